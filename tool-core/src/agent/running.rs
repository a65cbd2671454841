//! Running a chat under its lease.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::StoredChat;
use super::mail::Mail;
use crate::run::Journal;
use crate::store::{Lease, Next, StoreError, Stored, patiently};
use crate::{ChatError, ChatErrorKind, Turn};

/// How long a chat rests whose run failed before a worker tries again.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The same where it was the store that failed: what it was is loaded anew.
const AFTER_STORE_FAILURE: Duration = Duration::from_secs(1);

/// How often a task is asked for that does not say.
const POLL: Duration = Duration::from_secs(10);

impl StoredChat {
    /// Runs the loop until the model has answered or the chat has to wait. While another process runs it,
    /// this does nothing and gives [`Turn::Running`].
    ///
    /// # Errors
    ///
    /// The model's, a tool's fatal one, a mistake in the set-up, or the store's. Called again, here or in
    /// another process, it goes on where it stopped.
    pub async fn complete(&mut self) -> Result<Turn, ChatError> {
        let agent = self.agent.0.clone();
        match agent
            .store
            .claim(&self.id, &agent.owner, agent.lease)
            .await?
        {
            Some(lease) => self.complete_under(lease, &AtomicBool::new(false)).await,
            None => {
                self.reload().await?;
                Ok(Turn::Running)
            }
        }
    }

    /// Runs it under a lease that was taken, and gives that back. Once `stop` is set it does so after the
    /// step that it is at.
    pub(super) async fn complete_under(
        &mut self,
        lease: Lease,
        stop: &AtomicBool,
    ) -> Result<Turn, ChatError> {
        let agent = self.agent.0.clone();
        let mut seen = 0;
        let turn = self.run(&lease, stop, &mut seen).await;
        self.chat.set_journal(None);
        let next = match &turn {
            Ok(Turn::Paused(pause)) if !pause.tasks.is_empty() => {
                let waits = pause
                    .tasks
                    .iter()
                    .map(|(_, task)| task.poll_interval.unwrap_or(POLL));
                Next::After(waits.min().unwrap_or(POLL))
            }
            Ok(Turn::Running) => Next::Ready,
            Ok(_) => Next::Sent,
            Err(error) if error.kind() == ChatErrorKind::Store => Next::After(AFTER_STORE_FAILURE),
            Err(_) => Next::After(AFTER_FAILURE),
        };
        let release = || agent.store.release(&lease, next, seen);
        let released = patiently(agent.patience(), release).await;
        (self.running, self.has_mail) = (false, false);
        match (turn, released) {
            (Ok(_), Err(error)) => Err(error.into()),
            (turn, _) => turn,
        }
    }

    async fn run(
        &mut self,
        lease: &Lease,
        stop: &AtomicBool,
        seen: &mut u64,
    ) -> Result<Turn, ChatError> {
        let agent = self.agent.0.clone();
        let stored = self.load_after(0).await?;
        let calls = self.show(&stored)?;
        let journal = Journal::new(
            agent.store.clone(),
            lease.clone(),
            agent.patience(),
            stored.messages.len(),
            calls,
        );
        let watched = (journal.deadlines().clone(), journal.lost());
        self.chat.set_journal(Some(journal));
        self.take_mail(seen).await?;
        // A cancellation that was sent before this run, which was just taken, does not end it.
        let keeper = agent.keepers.keep(
            &agent.store,
            lease.clone(),
            agent.lease,
            self.chat.cancel_handle(),
            watched,
            *seen,
        );
        loop {
            if stop.load(Ordering::SeqCst) {
                return Ok(Turn::Running);
            }
            let turn = self.chat.step().await?;
            if keeper.has_lost() {
                return Err(StoreError::lease_lost(&self.id).into());
            }
            let took = self.take_mail(seen).await?;
            match turn {
                // A cancellation that arrived while this ran is what ended it.
                Some(Turn::Cancelled) => return Ok(Turn::Cancelled),
                Some(turn) if !took => return Ok(turn),
                _ => {}
            }
        }
    }

    /// Takes what was sent, as far as the chat is ready for it. Whether it has something new to do.
    async fn take_mail(&mut self, seen: &mut u64) -> Result<bool, ChatError> {
        let known = self.chat.messages().len() as u64;
        let stored = self.load_after(known).await?;
        let mut took = false;
        // All that was sent so far, also what a holder before took and died.
        *seen = stored.last_sent;
        for (number, sent) in stored.inbox {
            // What cannot be read is no longer waited for.
            let Ok(mail) = serde_json::from_value::<Mail>(sent.body) else {
                self.took(number);
                continue;
            };
            match mail {
                Mail::Ask(message) => {
                    if !self.chat.can_be_asked() {
                        continue;
                    }
                    self.chat.ask_later(*message)?;
                }
                Mail::Cancel => {
                    if !self.chat.round().is_empty() {
                        self.chat.cancel_handle().cancel();
                    }
                }
                mail => mail.apply(&mut self.chat.round_mut().calls),
            }
            self.took(number);
            took = true;
        }
        self.chat.record().await?;
        Ok(took)
    }

    async fn load_after(&self, known: u64) -> Result<Stored, StoreError> {
        let agent = &self.agent.0;
        let load = || agent.store.load(&self.id, known);
        patiently(agent.patience(), load).await
    }

    fn took(&mut self, number: u64) {
        if let Some(journal) = self.chat.journal() {
            journal.take(number);
        }
    }
}
