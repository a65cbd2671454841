//! How a run of the loop ended.

use std::fmt;

use super::PendingApproval;
use crate::{AssistantMessage, InputRequest, Stop, Task, ToolCall};

/// How a run of the loop ended. It displays as the text of the answer, or says why there is none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Turn {
    /// The model has answered.
    Answer(AssistantMessage),
    /// The chat waits: decide or wait, then call [`complete`](crate::Chat::complete).
    Paused(Pause),
    /// A limit was reached. The transcript is valid and [`complete`](crate::Chat::complete) can go
    /// on under another limit.
    Stopped(Stop),
    /// The run was cancelled.
    Cancelled,
    /// Another process runs the chat.
    Running,
}

/// What a chat waits for.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pause {
    /// The calls that wait for a decision.
    pub approvals: Vec<PendingApproval>,
    /// The questions of tools that wait for an answer.
    pub inputs: Vec<InputRequest>,
    /// The calls that wait for work that goes on elsewhere.
    pub tasks: Vec<(ToolCall, Task)>,
}

impl Turn {
    /// The answer, if the model has answered.
    pub fn answer(&self) -> Option<&AssistantMessage> {
        match self {
            Turn::Answer(answer) => Some(answer),
            _ => None,
        }
    }

    /// The text of the answer, empty if there is none.
    pub fn text(&self) -> String {
        self.answer()
            .map(AssistantMessage::text)
            .unwrap_or_default()
    }

    /// The calls that wait for a decision.
    pub fn pending_approvals(&self) -> &[PendingApproval] {
        match self {
            Turn::Paused(pause) => &pause.approvals,
            _ => &[],
        }
    }

    /// The questions of tools that wait for an answer.
    pub fn pending_inputs(&self) -> &[InputRequest] {
        match self {
            Turn::Paused(pause) => &pause.inputs,
            _ => &[],
        }
    }

    /// The calls that wait for work that goes on elsewhere.
    pub fn pending_tasks(&self) -> &[(ToolCall, Task)] {
        match self {
            Turn::Paused(pause) => &pause.tasks,
            _ => &[],
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Turn::Answer(answer) => f.write_str(&answer.text()),
            Turn::Paused(pause) => {
                let approvals = pause
                    .approvals
                    .iter()
                    .map(|call| format!("`{}` waits for approval", call.name));
                let inputs = pause
                    .inputs
                    .iter()
                    .map(|request| format!("`{}` asks: {}", request.tool, request.question));
                let tasks = pause
                    .tasks
                    .iter()
                    .map(|(call, _)| format!("`{}` is at work", call.name));
                f.write_str(
                    &approvals
                        .chain(inputs)
                        .chain(tasks)
                        .collect::<Vec<_>>()
                        .join(", "),
                )
            }
            Turn::Stopped(stop) => f.write_str(match stop {
                Stop::Rounds => "stopped: the limit of rounds was reached",
                Stop::ToolCalls => "stopped: the limit of tool calls was reached",
                Stop::Tokens => "stopped: the limit of tokens was reached",
                Stop::ConsecutiveFailures => "stopped: a tool failed again and again",
                Stop::CutOff => "stopped: the answers were cut off again and again",
            }),
            Turn::Cancelled => f.write_str("cancelled"),
            Turn::Running => f.write_str("another process runs the chat"),
        }
    }
}
