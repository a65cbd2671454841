//! One chat of an agent.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Agent;
use super::mail::Mail;
use crate::run::PendingCall;
use crate::store::{Sent, StoreError, StoreErrorKind, Stored, patiently};
use crate::{
    Arguments, AssistantMessage, CallRef, Chat, ChatError, ChatErrorKind, Decision, InputRequest,
    Message, PendingApproval, Task, ToolCall, Turn, Usage, UserMessage,
};

/// A chat in a store. What is read of it is as it was when it was last loaded: see
/// [`reload`](StoredChat::reload).
pub struct StoredChat {
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) chat: Chat,
    pub(super) running: bool,
    /// Whether something was sent that is not part of the chat yet.
    pub(super) has_mail: bool,
}

impl StoredChat {
    pub(super) fn empty(agent: &Agent, id: String) -> Self {
        StoredChat {
            agent: agent.clone(),
            chat: agent.chat(),
            id,
            running: false,
            has_mail: false,
        }
    }

    pub(super) async fn load(agent: &Agent, id: String) -> Result<Self, ChatError> {
        let mut chat = StoredChat::empty(agent, id);
        chat.reload().await?;
        Ok(chat)
    }

    /// The chat's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Loads it anew.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn reload(&mut self) -> Result<(), ChatError> {
        let stored = self.agent.0.store.load(&self.id, 0).await?;
        self.agent.check(&self.id, &stored)?;
        self.show(&stored)?;
        // What was decided is no longer open, though nobody has acted on it yet.
        for (_, sent) in &stored.inbox {
            if let Ok(mail) = serde_json::from_value::<Mail>(sent.body.clone()) {
                mail.apply(&mut self.chat.round_mut().calls);
            }
        }
        Ok(())
    }

    /// Takes over what is stored.
    pub(super) fn show(&mut self, stored: &Stored) -> Result<Vec<PendingCall>, ChatError> {
        let messages: Vec<Message> = read(&stored.messages, &self.id)?;
        let calls: Vec<PendingCall> = read(&stored.calls, &self.id)?;
        self.running = stored.running;
        self.has_mail = !stored.inbox.is_empty();
        self.chat.become_stored(&self.id, messages, calls.clone());
        Ok(calls)
    }

    /// Whether a process ran the chat when it was last loaded.
    pub fn running(&self) -> bool {
        self.running
    }

    /// Whether nothing was left to do when it was last loaded: all that was asked is answered, nothing was
    /// sent since, and no process runs it.
    #[doc(alias = "is_complete")]
    pub fn is_idle(&self) -> bool {
        !self.running && !self.has_mail && self.chat.can_be_asked()
    }

    /// The messages so far.
    pub fn messages(&self) -> &[Message] {
        self.chat.messages()
    }

    /// The answer of the model with which the messages end; `None` if they do not end with one.
    pub fn last_answer(&self) -> Option<&AssistantMessage> {
        self.chat.last_answer()
    }

    /// What all answers cost.
    pub fn usage(&self) -> Usage {
        self.chat.usage()
    }

    /// Whether calls wait for a decision.
    pub fn awaiting_approval(&self) -> bool {
        self.chat.awaiting_approval()
    }

    /// The calls that wait for a decision.
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        self.chat.pending_approvals()
    }

    /// The questions of tools that wait for an answer.
    pub fn pending_inputs(&self) -> Vec<InputRequest> {
        self.chat.pending_inputs()
    }

    /// The calls that wait for work that goes on elsewhere.
    pub fn pending_tasks(&self) -> Vec<(ToolCall, Task)> {
        self.chat.pending_tasks()
    }

    /// Asks the user's question and runs the loop until the model has answered or the chat has to wait. If
    /// another process runs the chat, the question is kept, and that process answers it.
    ///
    /// # Errors
    ///
    /// [`PendingToolCalls`](ChatErrorKind::PendingToolCalls) while calls wait; else as
    /// [`complete`](StoredChat::complete).
    pub async fn ask(&mut self, message: impl Into<UserMessage>) -> Result<Turn, ChatError> {
        self.reload().await?;
        if !self.running && self.chat.round().calls.iter().any(PendingCall::waits) {
            let text = "calls of the last answer are pending: decide or answer them and call `complete` before asking more";
            return Err(ChatError::new(ChatErrorKind::PendingToolCalls, text));
        }
        self.ask_later(message).await?;
        self.complete().await
    }

    /// Keeps a question, to be answered after all that was asked before.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn ask_later(&self, message: impl Into<UserMessage>) -> Result<(), ChatError> {
        // A key of its own, so that it is kept once, however often it has to be sent.
        let key = crate::chat::random_id("ask");
        self.send(key, &Mail::Ask(Box::new(message.into())))
            .await
            .map(drop)
    }

    /// Lets a waiting call run. `call` is the call as it was shown, its id, or its key.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision, or another decision
    /// was made first; the store's.
    pub async fn approve(&mut self, call: impl Into<CallRef>) -> Result<(), ChatError> {
        self.decide(call.into(), Decision::Approved, None).await
    }

    /// Lets a waiting call run with other arguments.
    ///
    /// # Errors
    ///
    /// As [`approve`](StoredChat::approve); [`InvalidInput`](ChatErrorKind::InvalidInput) if the arguments
    /// do not fit the tool's schema.
    pub async fn approve_with(
        &mut self,
        call: impl Into<CallRef>,
        arguments: Value,
    ) -> Result<(), ChatError> {
        let call = call.into();
        self.reload().await?;
        self.chat.list_tools().await?;
        // The same checks as in memory, on a copy.
        self.chat.approve_with(call.clone(), arguments.clone())?;
        let edited = Some(Arguments::from(arguments));
        self.decide(call, Decision::Approved, edited).await
    }

    /// Refuses a waiting call. It never runs, and the model reads that the user denied it.
    ///
    /// # Errors
    ///
    /// As [`approve`](StoredChat::approve).
    pub async fn deny(&mut self, call: impl Into<CallRef>) -> Result<(), ChatError> {
        self.decide(call.into(), Decision::Denied { reason: None }, None)
            .await
    }

    /// Refuses a waiting call, with a reason that the model reads.
    ///
    /// # Errors
    ///
    /// As [`approve`](StoredChat::approve).
    pub async fn deny_with_reason(
        &mut self,
        call: impl Into<CallRef>,
        reason: impl Into<String>,
    ) -> Result<(), ChatError> {
        self.decide(call.into(), Decision::denied(reason), None)
            .await
    }

    async fn decide(
        &mut self,
        call: CallRef,
        decision: Decision,
        edited: Option<Arguments>,
    ) -> Result<(), ChatError> {
        self.reload().await?;
        let pending = self.chat.waiting(&call)?;
        let (shown, possibly_done) = (pending.approved_call(), pending.possibly_done);
        let key = shown.idempotency_key().to_owned();
        let mail = Mail::Decision {
            call: key.clone(),
            tool: shown.name,
            arguments: shown.arguments,
            decision,
            edited,
        };
        let round = u8::from(possibly_done);
        if let Some(first) = self.send(format!("decision/{key}/{round}"), &mail).await? {
            let text = format!(
                "the call `{}` was decided before: {}",
                call.id(),
                first.body
            );
            return Err(ChatError::new(ChatErrorKind::NoSuchCall, text));
        }
        self.reload().await
    }

    /// Answers the question of a tool with an object of fields.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits an answer;
    /// [`InvalidInput`](ChatErrorKind::InvalidInput) if the answer does not fit; the store's.
    pub async fn answer(
        &mut self,
        request: impl Into<CallRef>,
        answer: impl Into<Value>,
    ) -> Result<(), ChatError> {
        let (call, answer) = (request.into(), answer.into());
        self.reload().await?;
        let open = self.asked(&call)?;
        self.chat.answer(call.clone(), answer.clone())?;
        self.settle(&call, open, Some(answer)).await
    }

    /// Declines to answer the question of a tool.
    ///
    /// # Errors
    ///
    /// As [`answer`](StoredChat::answer).
    pub async fn decline(&mut self, request: impl Into<CallRef>) -> Result<(), ChatError> {
        let call = request.into();
        self.reload().await?;
        let open = self.asked(&call)?;
        self.settle(&call, open, None).await
    }

    /// The key of the call, its question, and how many it has asked before.
    fn asked(&mut self, call: &CallRef) -> Result<(String, String, usize), ChatError> {
        let pending = self.chat.asking(call)?;
        let key = pending.call.idempotency_key().to_owned();
        let question = pending.open_question().map(|request| &request.question);
        let question = question.cloned().unwrap_or_default();
        Ok((key, question, pending.questions.len()))
    }

    async fn settle(
        &mut self,
        call: &CallRef,
        (key, question, number): (String, String, usize),
        answer: Option<Value>,
    ) -> Result<(), ChatError> {
        let once = format!("answer/{key}/{number}/{question}");
        let mail = Mail::Answer {
            call: key,
            question,
            answer,
        };
        if let Some(first) = self.send(once, &mail).await? {
            let text = format!(
                "the question of `{}` was answered before: {}",
                call.id(),
                first.body
            );
            return Err(ChatError::new(ChatErrorKind::NoSuchCall, text));
        }
        self.reload().await
    }

    /// Ends what is going on, in whatever process it does.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn cancel(&self) -> Result<(), ChatError> {
        self.send(String::new(), &Mail::Cancel).await.map(drop)
    }

    async fn send(&self, key: String, mail: &Mail) -> Result<Option<Sent>, ChatError> {
        let body =
            serde_json::to_value(mail).map_err(|error| corrupt(&self.id).with_source(error))?;
        let sent = match key.is_empty() {
            true => Sent::new(body),
            false => Sent::once(key, body),
        };
        let agent = &self.agent.0;
        let send = || agent.store.send(&self.id, sent.clone());
        Ok(patiently(agent.patience(), send).await?)
    }
}

impl fmt::Debug for StoredChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredChat")
            .field("id", &self.id)
            .field("chat", &self.chat)
            .field("running", &self.running)
            .field("has_mail", &self.has_mail)
            .finish_non_exhaustive()
    }
}

fn read<T: DeserializeOwned>(values: &[Value], chat: &str) -> Result<Vec<T>, ChatError> {
    let values = values.iter().map(|value| T::deserialize(value));
    let values: Result<Vec<T>, _> = values.collect();
    Ok(values.map_err(|error| corrupt(chat).with_source(error))?)
}

fn corrupt(chat: &str) -> StoreError {
    let text = format!("the chat `{chat}` cannot be read as it is stored");
    StoreError::new(StoreErrorKind::Corrupt, text)
}
