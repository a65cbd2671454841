//! What can go wrong in a chat.

use std::error::Error as StdError;
use std::fmt;

use crate::store::StoreError;
use crate::{ModelError, ToolError};

type Source = Box<dyn StdError + Send + Sync>;

/// Why a chat could not go on.
///
/// The transcript is valid after every error: the same verb can be called again.
#[derive(Debug)]
pub struct ChatError {
    kind: ChatErrorKind,
    text: String,
    source: Option<Source>,
}

/// The kinds of [`ChatError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatErrorKind {
    /// The model could not answer; the source is a [`ModelError`].
    Model,
    /// A tool reported a fatal error; the source is a [`ToolError`].
    FatalTool,
    /// Calls of the last answer have no result yet, so that nothing new can be asked.
    PendingToolCalls,
    /// There is no such call, or it does not await this.
    NoSuchCall,
    /// Edited arguments or an answer do not fit what they are for.
    InvalidInput,
    /// The tools or options of the chat contradict each other.
    Configuration,
    /// A source of tools could not say which it has; the source is a [`ToolError`].
    ToolSource,
    /// The store of the chat failed, or another process runs the chat now; the source is a
    /// [`StoreError`](crate::store::StoreError).
    Store,
}

impl ChatError {
    pub(crate) fn new(kind: ChatErrorKind, text: impl Into<String>) -> Self {
        ChatError {
            kind,
            text: text.into(),
            source: None,
        }
    }

    pub(crate) fn fatal_tool(tool: &str, error: ToolError) -> Self {
        ChatError {
            kind: ChatErrorKind::FatalTool,
            text: format!("tool `{tool}` stopped the chat"),
            source: Some(Box::new(error)),
        }
    }

    pub(crate) fn tool_source(error: ToolError) -> Self {
        ChatError {
            kind: ChatErrorKind::ToolSource,
            text: "the tools of a source could not be listed".into(),
            source: Some(Box::new(error)),
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ChatErrorKind {
        self.kind
    }

    /// The model's error, where that is the cause.
    pub fn model_error(&self) -> Option<&ModelError> {
        self.source
            .as_deref()
            .and_then(|source| source.downcast_ref())
    }

    /// The store's error, where that is the cause.
    pub fn store_error(&self) -> Option<&StoreError> {
        self.source
            .as_deref()
            .and_then(|source| source.downcast_ref())
    }

    /// The error of a tool, or of a source of tools, where that is the cause.
    pub fn tool_error(&self) -> Option<&ToolError> {
        self.source
            .as_deref()
            .and_then(|source| source.downcast_ref())
    }
}

impl From<StoreError> for ChatError {
    fn from(error: StoreError) -> Self {
        ChatError {
            kind: ChatErrorKind::Store,
            text: "the store failed".into(),
            source: Some(Box::new(error)),
        }
    }
}

impl From<ModelError> for ChatError {
    fn from(error: ModelError) -> Self {
        ChatError {
            kind: ChatErrorKind::Model,
            text: "the model could not answer".into(),
            source: Some(Box::new(error)),
        }
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for ChatError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().and_then(StdError::source)
    }
}
