//! What can go wrong with a server.

use std::error::Error as StdError;
use std::fmt;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use tool_core::ToolError;

type Source = Box<dyn StdError + Send + Sync>;

/// Why a server of the Model Context Protocol could not be used.
#[derive(Debug)]
pub struct McpError {
    kind: McpErrorKind,
    text: String,
    source: Option<Source>,
}

/// The kinds of [`McpError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpErrorKind {
    /// What was said about the server cannot be.
    Configuration,
    /// Its process could not be started.
    Start,
    /// It could not be reached, or there was no agreement on how to talk.
    Connect,
    /// It wants another token.
    Unauthorized,
    /// It did not answer in time.
    Timeout,
    /// The connection ended.
    Closed,
    /// It failed a moment ago and is left alone for a while.
    Resting,
    /// It refused what it was asked.
    Refused,
    /// It answered what is no answer.
    Protocol,
}

impl McpError {
    pub(super) fn new(kind: McpErrorKind, text: impl Into<String>) -> Self {
        McpError {
            kind,
            text: text.into(),
            source: None,
        }
    }

    pub(super) fn with_source(self, source: impl Into<Source>) -> Self {
        McpError {
            source: Some(source.into()),
            ..self
        }
    }

    /// The same error, with what the server wrote last for people.
    pub(super) fn with_last_words(mut self, words: &str) -> Self {
        let words = words.trim();
        if !words.is_empty() {
            self.text = format!("{}; it wrote last: {words}", self.text);
        }
        self
    }

    pub(super) fn connecting(server: &str, error: ClientInitializeError) -> Self {
        let kind = match &error {
            error if error.is_authorization_required() => McpErrorKind::Unauthorized,
            ClientInitializeError::ConnectionClosed(_) => McpErrorKind::Closed,
            ClientInitializeError::JsonRpcError(_) => McpErrorKind::Refused,
            ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ConflictInitResponseId(..) => McpErrorKind::Protocol,
            _ => McpErrorKind::Connect,
        };
        let text = match kind {
            McpErrorKind::Unauthorized => {
                format!("the MCP server `{server}` wants another bearer token")
            }
            McpErrorKind::Closed => {
                format!("the MCP server `{server}` ended before it said what it can do")
            }
            _ => format!(
                "the MCP server `{server}` could not be connected: {}",
                causes(&error)
            ),
        };
        McpError::new(kind, text).with_source(error)
    }

    pub(super) fn asking(server: &str, error: ServiceError) -> Self {
        let (kind, text) = match &error {
            error if error.is_authorization_required() => (
                McpErrorKind::Unauthorized,
                format!("the MCP server `{server}` wants another bearer token"),
            ),
            ServiceError::McpError(refused) => (
                McpErrorKind::Refused,
                format!("the MCP server `{server}` refused: {}", refused.message),
            ),
            ServiceError::TransportClosed => (
                McpErrorKind::Closed,
                format!("the connection to the MCP server `{server}` ended"),
            ),
            ServiceError::UnexpectedResponse => (
                McpErrorKind::Protocol,
                format!("the MCP server `{server}` answered what is no answer to this"),
            ),
            ServiceError::Timeout { .. } => (
                McpErrorKind::Timeout,
                format!("the MCP server `{server}` did not answer in time"),
            ),
            other => (
                McpErrorKind::Closed,
                format!(
                    "the MCP server `{server}` could not be asked: {}",
                    causes(other)
                ),
            ),
        };
        McpError::new(kind, text).with_source(error)
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> McpErrorKind {
        self.kind
    }
}

/// An error and what caused it, each said once.
fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for McpError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<McpError> for ToolError {
    fn from(error: McpError) -> Self {
        ToolError::new(&error).with_source(error)
    }
}
