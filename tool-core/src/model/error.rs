//! Why a model did not answer.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// Why a model did not answer.
///
/// It carries what the provider said: its message, the HTTP status, the id of the request. It never
/// carries a key.
#[derive(Debug)]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    provider: Option<String>,
    status: Option<u16>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account has no credit or has reached its limit.
    Quota,
    /// Too many requests; later it will work.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The transcript is longer than the model can read.
    ContextLength,
    /// The provider does not accept the request.
    BadRequest,
    /// An image or a file that the provider does not take in this place.
    UnsupportedAttachment,
    /// The provider failed.
    Server,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The provider did not answer in time.
    Timeout,
    /// The answer could not be understood, or ended before it was whole.
    Decoding,
    /// The model could not be set up: an address, a key or a file is missing or wrong.
    Configuration,
}

impl ModelErrorKind {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            ModelErrorKind::RateLimit
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Server
                | ModelErrorKind::Network
                | ModelErrorKind::Timeout
        )
    }
}

impl ModelError {
    /// An error of this kind, with what happened in words.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        ModelError {
            kind,
            message: message.into(),
            provider: None,
            status: None,
            request_id: None,
            retry_after: None,
            source: None,
        }
    }

    /// Says whose error it is.
    #[must_use]
    pub fn with_provider(self, provider: impl Into<String>) -> Self {
        ModelError {
            provider: Some(provider.into()),
            ..self
        }
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        ModelError {
            status: Some(status),
            ..self
        }
    }

    /// Adds the provider's id of the request.
    #[must_use]
    pub fn with_request_id(self, request_id: Option<String>) -> Self {
        ModelError { request_id, ..self }
    }

    /// Adds how long the provider asks to wait.
    #[must_use]
    pub fn with_retry_after(self, retry_after: Option<Duration>) -> Self {
        ModelError {
            retry_after,
            ..self
        }
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        ModelError {
            source: Some(source.into()),
            ..self
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// What happened, in the provider's words where it gave any.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The HTTP status.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The provider's id of the request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(provider) = &self.provider {
            write!(f, "{provider}: ")?;
        }
        f.write_str(&self.message)?;
        match (self.status, &self.request_id) {
            (Some(status), Some(id)) => write!(f, " (status {status}, request {id})"),
            (Some(status), None) => write!(f, " (status {status})"),
            (None, Some(id)) => write!(f, " (request {id})"),
            (None, None) => Ok(()),
        }
    }
}

impl StdError for ModelError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
