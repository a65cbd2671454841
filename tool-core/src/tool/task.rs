//! Work that goes on after a tool returned.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Work that goes on elsewhere after a tool returned. The call pauses until
/// [`resume`](crate::Tool::resume) gives its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What the tool needs to find the work again.
    pub data: Value,
    /// What it is doing, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long to wait before asking again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<Duration>,
}

impl Task {
    /// A task that is found again by `data`.
    pub fn new(data: impl Into<Value>) -> Self {
        Task {
            data: data.into(),
            ..Task::default()
        }
    }

    /// The same task with what it is doing.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Task {
            message: Some(message.into()),
            ..self
        }
    }

    /// The same task, to be asked for again after this time.
    #[must_use]
    pub fn with_poll_interval(self, interval: Duration) -> Self {
        Task {
            poll_interval: Some(interval),
            ..self
        }
    }
}

/// What `resume` returns: the result, or the task that still goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskPoll<T> {
    /// The task is over.
    Ready(T),
    /// The task goes on.
    Pending(Task),
}
