//! Keys, which are never shown.

use std::fmt;
use std::sync::Arc;

use tool_core::ModelError;

/// What is shown in place of a key.
const HIDDEN: &str = "[key]";

/// Shorter keys are not looked for in messages: they would be found in ordinary words.
const SHORTEST: usize = 4;

/// A key. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret, without the white space around it.
    pub fn new(text: &str) -> Self {
        Secret(text.trim().into())
    }

    /// The key itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The error without the key, where the provider's words, or what caused it, hold it.
    pub(crate) fn scrub(&self, error: ModelError) -> ModelError {
        let is_found = |text: &str| text.contains(&*self.0);
        if self.0.len() < SHORTEST || !is_found(&format!("{error}{error:?}")) {
            return error;
        }
        let clean = |text: &str| text.replace(&*self.0, HIDDEN);
        let mut scrubbed = ModelError::new(error.kind(), clean(error.message()))
            .with_request_id(error.request_id().map(clean))
            .with_retry_after(error.retry_after());
        if let Some(status) = error.status() {
            scrubbed = scrubbed.with_status(status);
        }
        scrubbed
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret::new(&text)
    }
}
