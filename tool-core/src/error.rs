//! What can go wrong in a tool.

use std::error::Error as StdError;
use std::fmt;

type Source = Box<dyn StdError + Send + Sync>;

/// Why a tool did not give a result.
///
/// Most failures are recoverable: the model reads the text and goes on. A
/// [`fatal`](ToolError::fatal) one stops the loop and reaches the caller of the chat.
#[derive(Debug)]
pub struct ToolError {
    kind: ToolErrorKind,
    text: String,
    source: Option<Source>,
}

/// The kinds of [`ToolError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The tool failed; the model reads why and goes on.
    Failed,
    /// The arguments did not fit the tool's schema; the tool did not run.
    InvalidArguments,
    /// The tool asked the user something, and there is no chat that could.
    InputRequired,
    /// The loop must stop.
    Fatal,
}

impl ToolError {
    /// A failure that the model reads and goes on from.
    pub fn new(text: impl fmt::Display) -> Self {
        ToolError {
            kind: ToolErrorKind::Failed,
            text: text.to_string(),
            source: None,
        }
    }

    /// A failure that stops the loop and reaches the caller of the chat.
    pub fn fatal(text: impl fmt::Display) -> Self {
        ToolError {
            kind: ToolErrorKind::Fatal,
            text: text.to_string(),
            source: None,
        }
    }

    pub(crate) fn invalid_arguments(text: String) -> Self {
        ToolError {
            kind: ToolErrorKind::InvalidArguments,
            text,
            source: None,
        }
    }

    pub(crate) fn input_required(question: &str) -> Self {
        ToolError {
            kind: ToolErrorKind::InputRequired,
            text: format!(
                "the tool needs an answer of the user, and there is no chat to ask in: {question}"
            ),
            source: None,
        }
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(self, source: impl Into<Source>) -> Self {
        ToolError {
            source: Some(source.into()),
            ..self
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// Whether the loop must stop.
    pub fn is_fatal(&self) -> bool {
        self.kind == ToolErrorKind::Fatal
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for ToolError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
