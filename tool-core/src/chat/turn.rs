//! How a run of the loop ended.

use std::fmt;

use crate::{AssistantMessage, Task, ToolCall};

/// How a run of the loop ended. It displays as the text of the answer, or says why there is none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a turn may be a pause that waits for a decision"]
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
}

/// What a chat waits for.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pause {
    /// The calls that wait for a decision.
    pub approvals: Vec<ToolCall>,
    /// The calls that wait for work that goes on elsewhere.
    pub tasks: Vec<(ToolCall, Task)>,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model wanted tools in every round that it was given.
    MaxRounds,
    /// The model was cut off in the middle of its calls again and again.
    CutOff,
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
    pub fn pending_approvals(&self) -> &[ToolCall] {
        match self {
            Turn::Paused(pause) => &pause.approvals,
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
                let tasks = pause
                    .tasks
                    .iter()
                    .map(|(call, _)| format!("`{}` is at work", call.name));
                f.write_str(&approvals.chain(tasks).collect::<Vec<_>>().join(", "))
            }
            Turn::Stopped(Stop::MaxRounds) => {
                f.write_str("stopped: the limit of rounds was reached")
            }
            Turn::Stopped(Stop::CutOff) => {
                f.write_str("stopped: the answers were cut off again and again")
            }
            Turn::Cancelled => f.write_str("cancelled"),
        }
    }
}
