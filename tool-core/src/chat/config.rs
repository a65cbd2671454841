//! What holds for all chats of an application.

use std::time::Duration;

use super::Concurrency;
use crate::{Limits, RequestOptions, Spill};

/// What holds for all chats of an application, handed to each by
/// [`Chat::with_config`](crate::Chat::with_config); each chat can override it.
///
/// Keys and addresses are not here: a provider reads them from the environment or is given them.
///
/// ```
/// use std::time::Duration;
/// use tool_core::{Config, Limits};
///
/// let config = Config::new()
///     .concurrency(4)
///     .max_run_time(Some(Duration::from_secs(90)))
///     .limits(Limits::new().rounds(20).consecutive_failures(3));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    pub(super) concurrency: Concurrency,
    pub(super) max_run_time: Option<Duration>,
    pub(super) max_attempts: u32,
    pub(super) limits: Limits,
    pub(super) request_options: RequestOptions,
    pub(super) streaming: bool,
    pub(super) trace_contents: bool,
    pub(super) spill_to_file: Spill,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            concurrency: Concurrency::Sequential,
            max_run_time: None,
            max_attempts: 10,
            limits: Limits::new(),
            request_options: RequestOptions::new(),
            streaming: false,
            trace_contents: false,
            spill_to_file: Spill::Characters(20_000),
        }
    }
}

impl Config {
    /// The defaults: calls run one after the other; a chat with files keeps there the results of more
    /// than 20,000 characters; nothing else is limited, nothing is streamed.
    pub fn new() -> Self {
        Config::default()
    }

    /// How many calls of one answer run at the same time.
    #[must_use]
    pub fn concurrency(self, concurrency: impl Into<Concurrency>) -> Self {
        Config {
            concurrency: concurrency.into(),
            ..self
        }
    }

    /// How long a run of a tool may take that does not say so itself. Deadlines need a Tokio runtime
    /// with its timer.
    #[must_use]
    pub fn max_run_time(self, max_run_time: Option<Duration>) -> Self {
        Config {
            max_run_time,
            ..self
        }
    }

    /// How often a call is begun whose runs are interrupted, because their process died or nobody waited for
    /// them any more: 10, unless it is said otherwise, at least 1. After the last one the model is told that
    /// the outcome is unknown, so that a call which ends its process does not do so for ever. For tools that
    /// run again: see [`AfterCrash`](crate::AfterCrash).
    #[must_use]
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        Config {
            max_attempts,
            ..self
        }
    }

    /// When a run of the loop stops by itself.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Config { limits, ..self }
    }

    /// Temperature, the length of answers, and what only one provider knows.
    #[must_use]
    pub fn request_options(self, request_options: RequestOptions) -> Self {
        Config {
            request_options,
            ..self
        }
    }

    /// Whether answers are asked for in pieces.
    #[must_use]
    pub fn streaming(self, streaming: bool) -> Self {
        Config { streaming, ..self }
    }

    /// Which results a chat with files keeps there instead of sending them whole, where their tool
    /// does not say: those of more than so many characters, or [`Spill::Never`]. See
    /// [`Chat::with_file_store`](crate::Chat::with_file_store).
    #[must_use]
    pub fn spill_to_file(self, limit: impl Into<Spill>) -> Self {
        Config {
            spill_to_file: limit.into(),
            ..self
        }
    }

    /// Whether the spans of the feature `tracing` carry arguments and results. They may hold personal
    /// data, so that the default is no.
    #[must_use]
    pub fn trace_contents(self, trace_contents: bool) -> Self {
        Config {
            trace_contents,
            ..self
        }
    }
}
