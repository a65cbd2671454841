//! The calls of the last answer, and what became of each so far.

use serde::{Deserialize, Serialize};

use super::Question;
use crate::{
    Answer, Arguments, AssistantMessage, Decision, InputRequest, Task, ToolCall, ToolResult,
};

/// The calls of the last answer that still lack results, in call order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) calls: Vec<PendingCall>,
}

/// One call and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingCall {
    pub(crate) call: ToolCall,
    pub(crate) state: CallState,
    /// What was decided, where the call requires approval.
    pub(crate) decision: Decision,
    /// Whether it was admitted: known, with valid arguments where those are checked beforehand.
    pub(crate) needs_approval: Option<bool>,
    /// What was approved: nothing else may run.
    pub(crate) approved: Option<Approved>,
    /// Whether an earlier run of it may have taken effect.
    pub(crate) possibly_done: bool,
    /// How often it began to run.
    #[serde(default)]
    pub(crate) attempts: u32,
    /// How many of its runs were interrupted.
    #[serde(default)]
    pub(crate) interruptions: u32,
    /// What it asked the user, in order; the last one may lack its answer.
    pub(crate) questions: Vec<Question>,
    /// The task that it paused on last.
    #[serde(
        default,
        with = "crate::tool::stored_task_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) task: Option<Task>,
}

/// The very call that was approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Approved {
    tool: String,
    arguments: Arguments,
    /// Whether the arguments are the reviewer's, not the model's.
    edited: bool,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallState {
    /// The model asked for it.
    Proposed,
    /// It began to run, and no result is recorded.
    Started,
    /// It waits for an answer to its last question.
    Asking,
    /// Its question was answered, so that it can run again.
    Answered,
    /// It waits for work that goes on elsewhere.
    Paused(#[serde(with = "crate::tool::stored_task")] Task),
    /// It is over.
    Done(ToolResult),
}

impl Round {
    pub(crate) fn of(answer: &AssistantMessage) -> Self {
        let calls = answer.tool_calls().map(|call| PendingCall {
            call: call.clone(),
            state: CallState::Proposed,
            decision: Decision::Pending,
            needs_approval: None,
            approved: None,
            possibly_done: false,
            attempts: 0,
            interruptions: 0,
            questions: Vec::new(),
            task: None,
        });
        Round {
            calls: calls.collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.calls.iter().all(PendingCall::is_done)
    }

    pub(crate) fn awaiting_approval(&self) -> impl Iterator<Item = &PendingCall> {
        self.calls.iter().filter(|call| call.awaits_approval())
    }

    /// Ends every call that is not over.
    pub(crate) fn end(&mut self, result: impl Fn(&PendingCall) -> ToolResult) -> Vec<ToolResult> {
        let mut ended = Vec::new();
        for call in self.calls.iter_mut().filter(|call| !call.is_done()) {
            let result = result(call);
            ended.push(result.clone());
            call.state = CallState::Done(result);
        }
        ended
    }

    /// The results in call order, once all are there.
    pub(crate) fn take_results(&mut self) -> Option<Vec<ToolResult>> {
        if self.is_empty() || !self.is_done() {
            return None;
        }
        let results = std::mem::take(&mut self.calls)
            .into_iter()
            .filter_map(|call| match call.state {
                CallState::Done(result) => Some(result),
                _ => None,
            });
        Some(results.collect())
    }
}

impl PendingCall {
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, CallState::Done(_))
    }

    /// Whether it runs with other arguments than the model's, however those are written.
    pub(crate) fn is_edited(&self) -> bool {
        let Some(approved) = self.approved.as_ref().filter(|approved| approved.edited) else {
            return false;
        };
        let value = |arguments: &Arguments| arguments.parse::<serde_json::Value>().ok();
        value(&approved.arguments) != value(&self.call.arguments)
    }

    /// The call as it was approved: with the arguments that the reviewer gave, if any.
    pub(crate) fn approved_call(&self) -> ToolCall {
        match &self.approved {
            Some(approved) if approved.edited => {
                self.call.with_arguments(approved.arguments.clone())
            }
            _ => self.call.clone(),
        }
    }

    /// Takes a decision. Approved is what a reviewer sees: the arguments of an earlier approval, if it
    /// gave others than the model.
    pub(crate) fn decide(&mut self, decision: Decision) {
        if decision == Decision::Approved {
            let call = self.approved_call();
            let edited = self
                .approved
                .as_ref()
                .is_some_and(|approved| approved.edited);
            self.approved = Some(Approved {
                tool: call.name,
                arguments: call.arguments,
                edited,
            });
        }
        self.decision = decision;
    }

    /// Approves it with other arguments than the model's.
    pub(crate) fn approve_with(&mut self, arguments: Arguments) {
        self.approved = Some(Approved {
            tool: self.call.name.clone(),
            arguments,
            edited: true,
        });
        self.decision = Decision::Approved;
    }

    /// Whether it is still the call that was approved.
    pub(crate) fn is_as_approved(&self) -> bool {
        let is = |approved: &Approved| {
            approved.tool == self.call.name
                && (approved.edited || approved.arguments == self.call.arguments)
        };
        self.approved.as_ref().is_some_and(is)
    }

    /// Whether nothing but a person or work elsewhere can bring it on.
    pub(crate) fn waits(&self) -> bool {
        self.awaits_approval() || matches!(self.state, CallState::Asking | CallState::Paused(_))
    }

    /// Whether a person has decided on it or answered it, and nothing came of that yet.
    pub(crate) fn is_settled(&self) -> bool {
        let decided = self.state == CallState::Proposed && self.decision != Decision::Pending;
        decided || (self.state == CallState::Answered && !self.questions.is_empty())
    }

    /// The question that it waits for.
    pub(crate) fn open_question(&self) -> Option<&InputRequest> {
        let question = self
            .questions
            .last()
            .filter(|question| question.answer.is_none());
        question
            .filter(|_| self.state == CallState::Asking)
            .map(|question| &question.request)
    }

    /// Answers the open question; the call then runs again.
    pub(crate) fn settle(&mut self, answer: Answer) {
        if let Some(question) = self.questions.last_mut() {
            question.answer = Some(answer);
            self.state = CallState::Answered;
        }
    }

    pub(crate) fn awaits_approval(&self) -> bool {
        self.state == CallState::Proposed
            && self.needs_approval == Some(true)
            && self.decision == Decision::Pending
    }
}
