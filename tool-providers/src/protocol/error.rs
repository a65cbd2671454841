//! What providers say when they do not answer.

use std::time::Duration;

use serde_json::Value;
use tool_core::{ModelError, ModelErrorKind};

/// How much of a body that is not JSON is shown.
const EXCERPT: usize = 400;

/// Reads the body of an answer that is an error, in any of the shapes in which providers send it.
pub fn parse_error(status: u16, body: &[u8]) -> ModelError {
    let value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let mut told = Told::read(&value);
    if told.message.is_empty() {
        told.message = excerpt(body);
    }
    if told.message.is_empty() {
        told.message = format!("the provider answered with status {status} and no message");
    }
    told.error(Some(status)).with_status(status)
}

/// Reads an error that came as an event of its own in a stream.
pub fn parse_error_event(data: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(data);
    let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    match value.get("error") {
        Some(error) => in_answer(&error.to_string()),
        None => in_answer(&text),
    }
}

/// Reads an error that came inside an answer.
pub(super) fn in_answer(json: &str) -> ModelError {
    let value = serde_json::from_str(json).unwrap_or(Value::Null);
    let mut told = Told::default();
    told.member(&value);
    if told.message.is_empty() {
        told.message = format!("the provider broke the answer off: {json}");
    }
    match told.status {
        Some(status) => told.error(Some(status)).with_status(status),
        None => told.error(None),
    }
}

/// An answer that is not what the protocol says.
pub(super) fn malformed(text: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Decoding, text)
}

#[derive(Default)]
struct Told {
    message: String,
    /// All that names the kind of the error: codes, types, reasons.
    words: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
}

impl Told {
    fn read(value: &Value) -> Told {
        let mut told = Told::default();
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            value => value,
        };
        match value.get("error") {
            Some(error) => {
                told.word(&value["code"]);
                told.member(error);
            }
            None => told.member(value),
        }
        told.request_id = value["request_id"].as_str().map(str::to_owned);
        told
    }

    /// Reads the object or the text that says what is wrong.
    fn member(&mut self, error: &Value) {
        if let Some(text) = error.as_str() {
            self.message = text.to_owned();
            return;
        }
        let said = ["message", "detail", "msg"]
            .iter()
            .find_map(|key| text(&error[*key]));
        self.message = said.unwrap_or_default();
        if let Some(raw) = error["metadata"]["raw"].as_str() {
            self.message = format!("{}: {raw}", self.message);
        }
        for key in ["code", "type", "status", "object"] {
            self.word(&error[key]);
        }
        self.status = error["code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok());
        self.status = self.status.filter(|status| (400..600).contains(status));
        self.details(&error["details"]);
    }

    fn details(&mut self, details: &Value) {
        self.word(&details["error_code"]);
        for detail in details.as_array().into_iter().flatten() {
            self.word(&detail["reason"]);
            let violations = detail["violations"].as_array();
            violations
                .into_iter()
                .flatten()
                .for_each(|violation| self.word(&violation["quotaId"]));
            let delay = detail["retryDelay"]
                .as_str()
                .and_then(|delay| delay.strip_suffix('s'));
            self.retry_after = delay.and_then(seconds).or(self.retry_after);
        }
    }

    fn word(&mut self, value: &Value) {
        if let Some(word) = value.as_str() {
            self.words.push_str(word);
            self.words.push(' ');
        }
    }

    fn error(self, status: Option<u16>) -> ModelError {
        let kind = kind(
            status,
            &self.words.to_lowercase(),
            &self.message.to_lowercase(),
        );
        let retry_after = self.retry_after.or_else(|| retry_in(&self.message));
        ModelError::new(kind, self.message)
            .with_request_id(self.request_id)
            .with_retry_after(retry_after)
    }
}

/// A message that is text, an object that holds one, or a list of either.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.join("; "))
        }
        Value::Object(_) => ["message", "msg", "detail"]
            .iter()
            .find_map(|key| text(&value[*key])),
        _ => None,
    }
}

fn kind(status: Option<u16>, words: &str, message: &str) -> ModelErrorKind {
    let in_words = |all: &[&str]| all.iter().any(|word| words.contains(word));
    let in_message = |all: &[&str]| all.iter().any(|word| message.contains(word));
    let is_too_long = in_words(&["context_length_exceeded", "exceed_context_size"])
        || in_message(&[
            "context length",
            "context window",
            "context size",
            "maximum context",
            "prompt is too long",
            "token count exceeds",
        ]);
    let is_key = in_words(&["api_key_invalid", "invalid_api_key"])
        || in_message(&["incorrect api key", "invalid api key", "api key not valid"]);
    let is_quota = in_words(&[
        "insufficient_quota",
        "enforced_spend_limit_reached",
        "perday",
    ]);
    match status {
        Some(400 | 413 | 422 | 500) | None if is_too_long => ModelErrorKind::ContextLength,
        Some(401 | 403) => ModelErrorKind::Auth,
        Some(400) | None if is_key => ModelErrorKind::Auth,
        Some(402) => ModelErrorKind::Quota,
        Some(429) | None if is_quota => ModelErrorKind::Quota,
        Some(408) => ModelErrorKind::Timeout,
        Some(429) => ModelErrorKind::RateLimit,
        Some(529) => ModelErrorKind::Overloaded,
        Some(500..600) | None if in_words(&["overloaded"]) => ModelErrorKind::Overloaded,
        // A conflict with another request; a later one may succeed.
        Some(409 | 500..600) => ModelErrorKind::Server,
        None if in_words(&["rate_limit", "resource_exhausted"]) => ModelErrorKind::RateLimit,
        None if in_words(&["billing"]) => ModelErrorKind::Quota,
        None if in_words(&["authentication", "permission"]) => ModelErrorKind::Auth,
        None if in_words(&["invalid_", "not_found", "request_too_large"]) => {
            ModelErrorKind::BadRequest
        }
        None if in_words(&["timeout"]) => ModelErrorKind::Timeout,
        None => ModelErrorKind::Server,
        Some(_) => ModelErrorKind::BadRequest,
    }
}

/// "Please retry in 7.5s", "try again in 20s", "try again in 430ms".
fn retry_in(message: &str) -> Option<Duration> {
    let (_, rest) = message
        .split_once("retry in ")
        .or_else(|| message.split_once("try again in "))?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = seconds(&rest[..end])?;
    match &rest[end..] {
        unit if unit.starts_with("ms") => Some(number / 1000),
        unit if unit.starts_with('s') || unit.starts_with(" s") => Some(number),
        _ => None,
    }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT)]);
    let text = text.trim();
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
