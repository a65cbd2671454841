//! How a chat uses its tools.

use crate::{Calls, ToolChoice};

/// How a chat uses its tools. What is not set is the default.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOptions {
    pub(super) choice: ToolChoice,
    pub(super) keep_choice: bool,
    pub(super) only: Option<Vec<String>>,
    pub(super) calls: Calls,
    pub(super) concurrency: Option<Concurrency>,
}

/// How many calls of one answer run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Concurrency {
    /// One after the other, in call order.
    #[default]
    Sequential,
    /// At most so many at a time.
    AtMost(usize),
    /// All at once.
    Unbounded,
}

impl Concurrency {
    pub(super) fn limit(self) -> usize {
        match self {
            Concurrency::Sequential => 1,
            Concurrency::AtMost(limit) => limit.max(1),
            Concurrency::Unbounded => usize::MAX,
        }
    }
}

impl From<usize> for Concurrency {
    fn from(limit: usize) -> Self {
        Concurrency::AtMost(limit)
    }
}

impl ToolOptions {
    /// The defaults: the model decides, any number of calls, run as the configuration says.
    pub fn new() -> Self {
        ToolOptions::default()
    }

    /// Whether and which tools the model may call. A required tool or a specific one is cleared
    /// after a tool ran or a call was denied, so that the model can answer.
    #[must_use]
    pub fn choice(self, choice: impl Into<ToolChoice>) -> Self {
        ToolOptions {
            choice: choice.into(),
            ..self
        }
    }

    /// Keeps a required tool or a specific one for every request. Set a limit of rounds with it: the
    /// model can then never answer.
    #[must_use]
    pub fn keep_choice(self) -> Self {
        ToolOptions {
            keep_choice: true,
            ..self
        }
    }

    /// Lets the model call these of the chat's tools only. The provider is told where it can be, so
    /// that what it keeps of the other tools stays valid; else they are left out. A call of another tool
    /// does not run.
    #[must_use]
    pub fn only<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        ToolOptions {
            only: Some(names.into_iter().map(Into::into).collect()),
            ..self
        }
    }

    /// How many calls one answer may hold.
    #[must_use]
    pub fn calls(self, calls: Calls) -> Self {
        ToolOptions { calls, ..self }
    }

    /// How many calls run at the same time: `4`, or [`Concurrency::Unbounded`].
    #[must_use]
    pub fn concurrency(self, concurrency: impl Into<Concurrency>) -> Self {
        ToolOptions {
            concurrency: Some(concurrency.into()),
            ..self
        }
    }
}
