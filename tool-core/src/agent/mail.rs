//! What people send to a stored chat.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::input::check_answer;
use crate::run::{CallState, PendingCall};
use crate::{Answer, Arguments, Decision, UserMessage};

/// One thing that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mail {
    /// A decision on a call.
    Decision {
        /// The call's key.
        call: String,
        /// The call's tool and arguments, as they were shown.
        tool: String,
        arguments: Arguments,
        decision: Decision,
        /// Other arguments, with which it was approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<Arguments>,
    },
    /// An answer to a question of a call; `None`: declined.
    Answer {
        call: String,
        question: String,
        answer: Option<Value>,
    },
    /// Another question of the user.
    Ask(Box<UserMessage>),
    /// An end to what is going on.
    Cancel,
}

impl Mail {
    /// Does to the calls what it says. A decision on another call than it was shown, and an answer to
    /// another question, do nothing.
    pub(super) fn apply(&self, calls: &mut [PendingCall]) {
        let find = |calls: &mut [PendingCall], key: &str| {
            calls
                .iter()
                .position(|call| call.call.idempotency_key() == key)
        };
        match self {
            Mail::Decision {
                call,
                tool,
                arguments,
                decision,
                edited,
            } => {
                let Some(at) = find(calls, call) else { return };
                let pending = &mut calls[at];
                let shown = pending.approved_call();
                let open =
                    pending.state == CallState::Proposed && pending.decision == Decision::Pending;
                if !open || shown.name != *tool || shown.arguments != *arguments {
                    return;
                }
                match edited {
                    Some(edited) => pending.approve_with(edited.clone()),
                    None => pending.decide(decision.clone()),
                }
            }
            Mail::Answer {
                call,
                question,
                answer,
            } => {
                let Some(at) = find(calls, call) else { return };
                let pending = &mut calls[at];
                let Some(request) = pending.open_question() else {
                    return;
                };
                if request.question != *question {
                    return;
                }
                let checked = match answer {
                    None => Ok(None),
                    Some(value) => check_answer(request, value.clone()).map(Some),
                };
                if let Ok(answer) = checked {
                    pending.settle(Answer::new(answer));
                }
            }
            Mail::Ask(_) | Mail::Cancel => {}
        }
    }
}
