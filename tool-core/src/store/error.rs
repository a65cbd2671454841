//! Why a store did not do what it was asked.

use std::error::Error as StdError;
use std::fmt;

/// Why a store did not do what it was asked. Nothing was changed then.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    text: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// There is no such chat.
    NotFound,
    /// There is such a chat already.
    Exists,
    /// Another process runs the chat now: what this one did since is not recorded.
    LeaseLost,
    /// The chat is not as the caller thinks: it has to be loaded again.
    Conflict,
    /// The chat was stored by a later version.
    NewerFormat,
    /// The database cannot be reached, or is busy: later it may work.
    Unavailable,
    /// The database is full or cannot be written.
    Full,
    /// What is stored cannot be read.
    Corrupt,
    /// The store has no means for that, or a rule of the database forbids it.
    Refused,
}

impl StoreError {
    /// An error of this kind, with what happened in words.
    pub fn new(kind: StoreErrorKind, text: impl Into<String>) -> Self {
        StoreError {
            kind,
            text: text.into(),
            source: None,
        }
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        StoreError {
            source: Some(source.into()),
            ..self
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    pub(crate) fn of_another(chat: &str, agent: &str, wanted: &str) -> Self {
        let name = |agent: &str| match agent {
            "" => "the agent without a name".to_owned(),
            agent => format!("the agent `{agent}`"),
        };
        let (agent, wanted) = (name(agent), name(wanted));
        StoreError::new(
            StoreErrorKind::NotFound,
            format!("the chat `{chat}` is one of {agent}, not of {wanted}"),
        )
    }

    pub(crate) fn not_found(chat: &str) -> Self {
        StoreError::new(
            StoreErrorKind::NotFound,
            format!("there is no chat `{chat}`"),
        )
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn newer(chat: &str) -> Self {
        let text = format!("the chat `{chat}` was stored by a later version: use that");
        StoreError::new(StoreErrorKind::NewerFormat, text)
    }

    pub(crate) fn exists(chat: &str) -> Self {
        let text = format!("there is a chat `{chat}` already");
        StoreError::new(StoreErrorKind::Exists, text)
    }

    pub(crate) fn conflict(chat: &str) -> Self {
        let text = format!("the chat `{chat}` has changed meanwhile");
        StoreError::new(StoreErrorKind::Conflict, text)
    }

    pub(crate) fn lease_lost(chat: &str) -> Self {
        let text = format!("another process runs the chat `{chat}` now");
        StoreError::new(StoreErrorKind::LeaseLost, text)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
