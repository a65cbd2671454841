//! Work that goes on after a tool returned.

use std::time::Duration;

use serde_json::Value;

/// Work that goes on elsewhere after a tool returned. The call pauses until
/// [`resume`](crate::Tool::resume) gives its result.
///
/// It is stored as part of a chat. By itself it cannot be serialized, so that a tool never sends one to
/// the model as JSON by mistake.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// What the tool needs to find the work again.
    pub data: Value,
    /// What it is doing, for people.
    pub message: Option<String>,
    /// How long to wait before asking again.
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

/// How a chat stores the task of a call.
pub(crate) mod stored_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Task, stored};

    #[derive(Serialize, Deserialize)]
    struct Stored(#[serde(with = "stored")] Task);

    pub(crate) fn serialize<S: Serializer>(
        task: &Option<Task>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        task.clone().map(Stored).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Task>, D::Error> {
        let stored = Option::<Stored>::deserialize(deserializer)?;
        Ok(stored.map(|Stored(task)| task))
    }
}

pub(crate) mod stored {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::Task;

    #[derive(Serialize, Deserialize)]
    struct Stored {
        data: Value,
        message: Option<String>,
        poll_interval: Option<Duration>,
    }

    pub(crate) fn serialize<S: Serializer>(task: &Task, serializer: S) -> Result<S::Ok, S::Error> {
        let Task {
            data,
            message,
            poll_interval,
        } = task.clone();
        Stored {
            data,
            message,
            poll_interval,
        }
        .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Task, D::Error> {
        let Stored {
            data,
            message,
            poll_interval,
        } = Stored::deserialize(deserializer)?;
        Ok(Task {
            data,
            message,
            poll_interval,
        })
    }
}
