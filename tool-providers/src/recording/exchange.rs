//! What was asked and answered, as a file holds it.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::{HeaderMap, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::{Pieces, REQUEST_IDS};
use crate::secret::Secrets;

/// The headers of an answer that are kept, beside the ids.
const KEPT: [&str; 4] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];

#[derive(Default, Deserialize, Serialize)]
pub(super) struct Recording<E = Vec<Exchange>> {
    pub(super) exchanges: E,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Exchange {
    pub(super) request: Asked,
    pub(super) response: Answered,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) body: Value,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Answered {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) body: Value,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) broken: bool,
}

impl Asked {
    /// The request, with all that it holds.
    pub(super) fn of(request: &Request<Pieces>) -> Self {
        let path = request.uri().path_and_query();
        Asked {
            method: request.method().to_string(),
            path: path.map(ToString::to_string).unwrap_or_default(),
            body: body(&request.body().joined()),
        }
    }

    pub(super) fn without(mut self, secrets: &Secrets) -> Self {
        self.path = secrets.hide(&self.path);
        change(&mut self.body, &|text| secrets.hide(text));
        self
    }
}

impl Answered {
    /// An answer without secrets.
    pub(super) fn new(status: u16, headers: &HeaderMap, heard: &[u8], secrets: &Secrets) -> Self {
        let names = KEPT.iter().chain(&REQUEST_IDS);
        let kept = names.filter_map(|name| {
            let value = headers.get(*name)?.to_str().ok()?;
            Some(((*name).to_owned(), secrets.hide(value)))
        });
        let mut body = body(heard);
        change(&mut body, &|text| secrets.hide(text));
        Answered {
            status,
            headers: kept.collect(),
            body,
            broken: false,
        }
    }

    /// The bytes of the body, with the secrets of who replays it.
    pub(super) fn bytes(&self, secrets: &Secrets) -> Bytes {
        match &self.body {
            Value::Null => Bytes::new(),
            Value::String(text) => secrets.restore(text, true).into(),
            other => {
                let mut body = other.clone();
                change(&mut body, &|text| secrets.restore(text, false));
                body.to_string().into()
            }
        }
    }
}

/// A body is JSON where it is an object or an array, else text.
fn body(bytes: &[u8]) -> Value {
    match serde_json::from_slice(bytes) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ if bytes.is_empty() => Value::Null,
        _ => String::from_utf8_lossy(bytes).into(),
    }
}

/// Changes every text of a value, names of members too.
fn change(value: &mut Value, to: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = to(text),
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, to)),
        Value::Object(members) => {
            let changed = std::mem::take(members).into_iter();
            *members = changed
                .map(|(name, mut value)| {
                    change(&mut value, to);
                    (to(&name), value)
                })
                .collect();
        }
        _ => {}
    }
}
