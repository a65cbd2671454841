//! A chat that is run from a store.

use super::Chat;
use crate::run::{Journal, PendingCall, Round, next};
use crate::{ChatError, Limits, Message, Outcome, Transcript};

impl Chat {
    /// Makes it the chat of this id, with these messages and calls.
    pub(crate) fn become_stored(
        &mut self,
        id: &str,
        messages: Vec<Message>,
        calls: Vec<PendingCall>,
    ) {
        self.id = id.to_owned();
        self.usage = Default::default();
        for message in &messages {
            if let Message::Assistant(answer) = message {
                self.usage += answer.usage;
            }
        }
        self.transcript = messages.into_iter().collect::<Transcript>();
        self.round = Round { calls };
        self.outbox = Default::default();
        // What was to end an earlier run ends none of the later ones.
        self.cancellation = Default::default();
        self.resumed = false;
    }

    pub(crate) fn set_journal(&mut self, journal: Option<Journal>) {
        self.journal = journal;
    }

    pub(crate) fn journal(&mut self) -> Option<&mut Journal> {
        self.journal.as_mut()
    }

    pub(crate) fn round_mut(&mut self) -> &mut Round {
        &mut self.round
    }

    pub(crate) fn round(&self) -> &Round {
        &self.round
    }

    /// Records what is new.
    pub(crate) async fn record(&mut self) -> Result<(), ChatError> {
        self.driver().record_all().await
    }

    /// Whether another question can be added: nothing is asked, or all is answered, or was cancelled.
    pub(crate) fn can_be_asked(&self) -> bool {
        if let Some(Message::Tool(result)) = self.transcript.messages().last() {
            let given_up = [Outcome::Cancelled, Outcome::NotStarted];
            return self.round.is_empty() && given_up.contains(&result.outcome);
        }
        let limits = Limits::new();
        next(self.transcript.messages(), &self.round, &limits, true) == crate::run::Next::Complete
    }
}
