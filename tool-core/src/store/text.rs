//! What databases that keep texts and integers have in common.

use std::time::Duration;

use serde_json::Value;

use super::{StoreError, StoreErrorKind};

/// A text that is stored.
pub(super) fn json(chat: &str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| {
        let text = format!("the chat `{chat}` cannot be read as it is stored");
        StoreError::new(StoreErrorKind::Corrupt, text).with_source(error)
    })
}

/// So long, as a number that can be added to a time.
pub(super) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis())
        .unwrap_or(i64::MAX)
        .min(i64::MAX / 4)
}

/// A number that is stored with a sign; beyond that it is the highest.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A migration that a database went through and this version does not know.
pub(super) fn later(done: usize, known: usize) -> StoreError {
    let text = format!(
        "the database has the form {done}, and this version knows {known}: use a later version"
    );
    StoreError::new(StoreErrorKind::NewerFormat, text)
}
