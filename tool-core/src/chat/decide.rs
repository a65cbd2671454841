//! What people decide and answer while a chat waits.

use std::ops::Deref;

use serde_json::Value;

use super::Chat;
use crate::input::check_answer;
use crate::run::{CallState, PendingCall};
use crate::{Answer, Arguments, ChatError, ChatErrorKind, Decision, InputRequest, Task, ToolCall};

/// A call that waits for a decision. It reads as the [`ToolCall`] that it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingApproval {
    /// The call.
    pub call: ToolCall,
    /// The server on which the provider will run it, where that is not this application.
    pub server: Option<String>,
    /// Whether an earlier run of it was interrupted and may have taken effect.
    pub possibly_done: bool,
}

impl Deref for PendingApproval {
    type Target = ToolCall;

    fn deref(&self) -> &ToolCall {
        &self.call
    }
}

/// Which call of a chat is meant: its id, its idempotency key, or the call as it was shown. The last
/// is the safest: a decision then holds for that very call, with that tool and those arguments, and for
/// no other that has the same id.
#[derive(Clone, Debug)]
pub struct CallRef(Meant);

#[derive(Clone, Debug)]
enum Meant {
    Id(String),
    Call(Box<ToolCall>),
}

impl CallRef {
    pub(crate) fn id(&self) -> &str {
        match &self.0 {
            Meant::Id(id) => id,
            Meant::Call(call) => &call.id,
        }
    }

    /// Whether the call, which people see as `shown`, is meant.
    pub(crate) fn is(&self, shown: &ToolCall) -> bool {
        match &self.0 {
            Meant::Id(id) => shown.id == *id || shown.idempotency_key() == id,
            Meant::Call(call) => {
                call.id == shown.id
                    && call.idempotency_key() == shown.idempotency_key()
                    && call.name == shown.name
                    && call.arguments == shown.arguments
            }
        }
    }
}

macro_rules! call_refs {
    ($($type:ty, $value:ident => $meant:expr;)*) => {$(
        impl From<$type> for CallRef {
            fn from($value: $type) -> Self {
                CallRef($meant)
            }
        }
    )*};
}

call_refs! {
    &str, id => Meant::Id(id.to_owned());
    &String, id => Meant::Id(id.clone());
    String, id => Meant::Id(id);
    &ToolCall, call => Meant::Call(Box::new(call.clone()));
    ToolCall, call => Meant::Call(Box::new(call));
    &PendingApproval, pending => Meant::Call(Box::new(pending.call.clone()));
    PendingApproval, pending => Meant::Call(Box::new(pending.call));
    &InputRequest, request => Meant::Id(request.call_id.clone());
    InputRequest, request => Meant::Id(request.call_id);
}

impl Chat {
    /// Whether calls wait for a decision.
    pub fn awaiting_approval(&self) -> bool {
        self.round.awaiting_approval().next().is_some()
    }

    /// The calls that wait for a decision, all of the turn.
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        let waiting = self
            .round
            .awaiting_approval()
            .map(|pending| PendingApproval {
                call: pending.approved_call(),
                server: pending.call.server.clone(),
                possibly_done: pending.possibly_done,
            });
        waiting.collect()
    }

    /// The questions of tools that wait for an answer.
    pub fn pending_inputs(&self) -> Vec<InputRequest> {
        self.round
            .calls
            .iter()
            .filter_map(PendingCall::open_question)
            .cloned()
            .collect()
    }

    /// The calls that wait for work that goes on elsewhere.
    pub fn pending_tasks(&self) -> Vec<(ToolCall, Task)> {
        let paused = self
            .round
            .calls
            .iter()
            .filter_map(|pending| match &pending.state {
                CallState::Paused(task) => Some((pending.call.clone(), task.clone())),
                _ => None,
            });
        paused.collect()
    }

    /// Lets a waiting call run; [`complete`](Chat::complete) then runs it. `call` is the call or its id.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision.
    pub fn approve(&mut self, call: impl Into<CallRef>) -> Result<(), ChatError> {
        self.waiting(&call.into())?.decide(Decision::Approved);
        Ok(())
    }

    /// Lets a waiting call run with other arguments. The model's own stay in the transcript; the end of the
    /// result tells it which ones were used.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision;
    /// [`InvalidInput`](ChatErrorKind::InvalidInput) if the arguments do not fit the tool's schema:
    /// the call then still waits.
    pub fn approve_with(
        &mut self,
        call: impl Into<CallRef>,
        arguments: Value,
    ) -> Result<(), ChatError> {
        let tools = self.tools.clone();
        let pending = self.waiting(&call.into())?;
        if let Some(server) = &pending.call.server {
            let text = format!(
                "the provider runs this call on `{server}` with the arguments it has; deny it to change them"
            );
            return Err(ChatError::new(ChatErrorKind::InvalidInput, text));
        }
        let edited = pending.call.with_arguments(Arguments::from(arguments));
        if let Some(tool) = tools.get(&edited.name) {
            let checked = tool.definition().check(&edited);
            checked
                .map_err(|error| ChatError::new(ChatErrorKind::InvalidInput, error.to_string()))?;
        }
        pending.approve_with(edited.arguments);
        Ok(())
    }

    /// Refuses a waiting call. It never runs, and the model reads that the user denied it.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision.
    pub fn deny(&mut self, call: impl Into<CallRef>) -> Result<(), ChatError> {
        self.waiting(&call.into())?
            .decide(Decision::Denied { reason: None });
        Ok(())
    }

    /// Refuses a waiting call, with a reason that the model reads.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision.
    pub fn deny_with_reason(
        &mut self,
        call: impl Into<CallRef>,
        reason: impl Into<String>,
    ) -> Result<(), ChatError> {
        self.waiting(&call.into())?.decide(Decision::denied(reason));
        Ok(())
    }

    /// Answers the question of a tool with an object of fields. What is left out is filled in from
    /// the defaults. [`complete`](Chat::complete) then runs the call again. `request` is the request,
    /// the call or its id.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits an answer;
    /// [`InvalidInput`](ChatErrorKind::InvalidInput) if the answer does not fit the fields: the
    /// question then still stands.
    pub fn answer(
        &mut self,
        request: impl Into<CallRef>,
        answer: impl Into<Value>,
    ) -> Result<(), ChatError> {
        let pending = self.asking(&request.into())?;
        if let Some(request) = pending.open_question() {
            let answer = check_answer(request, answer.into()).map_err(|text| {
                ChatError::new(
                    ChatErrorKind::InvalidInput,
                    format!("the answer does not fit: {text}"),
                )
            })?;
            pending.settle(Answer::new(Some(answer)));
        }
        Ok(())
    }

    /// Declines to answer the question of a tool. [`complete`](Chat::complete) then runs the call
    /// again, and the tool decides what to do without.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits an answer.
    pub fn decline(&mut self, request: impl Into<CallRef>) -> Result<(), ChatError> {
        self.asking(&request.into())?.settle(Answer::new(None));
        Ok(())
    }

    pub(crate) fn waiting(&mut self, call: &CallRef) -> Result<&mut PendingCall, ChatError> {
        self.find(call, &A_DECISION)
    }

    pub(crate) fn asking(&mut self, call: &CallRef) -> Result<&mut PendingCall, ChatError> {
        self.find(call, &AN_ANSWER)
    }

    fn find(&mut self, meant: &CallRef, what: &Awaited) -> Result<&mut PendingCall, ChatError> {
        let calls = &mut self.round.calls;
        let is_found = |call: &PendingCall| (what.waits)(call) && meant.is(&call.approved_call());
        match calls.iter().position(is_found) {
            Some(index) => Ok(&mut calls[index]),
            None => Err(ChatError::new(
                ChatErrorKind::NoSuchCall,
                what.absent(meant.id(), calls),
            )),
        }
    }
}

/// What a call may wait for.
struct Awaited {
    name: &'static str,
    waits: fn(&PendingCall) -> bool,
}

const A_DECISION: Awaited = Awaited {
    name: "a decision",
    waits: PendingCall::awaits_approval,
};

const AN_ANSWER: Awaited = Awaited {
    name: "an answer",
    waits: |call| call.open_question().is_some(),
};

impl Awaited {
    /// Why the call `id` is not among those that wait for it.
    fn absent(&self, id: &str, calls: &[PendingCall]) -> String {
        let Awaited { name, waits } = self;
        let same = calls.iter().find(|call| call.call.id == id);
        match same {
            Some(call) if waits(call) => {
                return format!(
                    "the call `{id}` that awaits {name} is not the one that was shown: look at it again"
                );
            }
            Some(call) if call.is_settled() => {
                return format!("the call `{id}` awaits nothing more: `complete` goes on with it");
            }
            _ => {}
        }
        let waiting = calls.iter().filter(|call| waits(call));
        let waiting: Vec<String> = waiting
            .map(|call| format!("`{}` ({})", call.call.id, call.call.name))
            .collect();
        match waiting.is_empty() {
            true => format!("no call `{id}` awaits {name}; none does"),
            false => format!(
                "no call `{id}` awaits {name}; these do: {}",
                waiting.join(", ")
            ),
        }
    }
}
