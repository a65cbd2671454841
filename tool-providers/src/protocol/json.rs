//! Writing JSON into a buffer of bytes.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::IgnoredAny;

/// Appends any value. Writing to memory cannot fail, and no value here has keys that are no strings.
pub(super) fn value(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok());
}

/// Appends `"key":`.
pub(super) fn key(out: &mut Vec<u8>, key: &str) {
    value(out, key);
    out.push(b':');
}

/// Appends `,"key":value`.
pub(super) fn member(out: &mut Vec<u8>, name: &str, content: &(impl Serialize + ?Sized)) {
    out.push(b',');
    key(out, name);
    value(out, content);
}

/// Appends `{"type":"…"`; more members and the brace are still to come.
pub(super) fn typed(out: &mut Vec<u8>, kind: &str) {
    out.extend_from_slice(b"{\"type\":");
    value(out, kind);
}

/// Appends `{"type":"…","…":` for a content part; the value and the brace are still to come.
pub(super) fn part(out: &mut Vec<u8>, kind: &str) {
    typed(out, kind);
    out.push(b',');
    key(out, kind);
}

/// Appends a comma, unless nothing or the start of an array or object is before it.
pub(super) fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'[' | b'{')) {
        out.push(b',');
    }
}

/// The arguments of a call as a provider accepts them back: always the text of a JSON object.
pub(super) fn arguments(text: &str) -> Cow<'_, str> {
    match text.trim_start().as_bytes().first() {
        Some(b'{') if is_json(text) => text.into(),
        None => "{}".into(),
        Some(b'n') if text.trim() == "null" => "{}".into(),
        Some(b'"') => match serde_json::from_str::<String>(text) {
            Ok(inner) if inner.trim_start().starts_with('{') => {
                arguments(&inner).into_owned().into()
            }
            _ => carried(text),
        },
        _ => carried(text),
    }
}

/// Whether a text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn carried(text: &str) -> Cow<'_, str> {
    let mut out = Vec::from(b"{\"invalid_json\":");
    value(&mut out, text);
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned().into()
}

/// Appends `{"type":"…","key":`; the value and the brace are still to come.
pub(super) fn part_as(out: &mut Vec<u8>, kind: &str, name: &str) {
    typed(out, kind);
    out.push(b',');
    key(out, name);
}

/// An id of letters and digits in place of one that a provider refuses: always the same.
pub(super) fn digest(id: &str) -> String {
    // FNV-1a: the same in every process.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("call_{:016x}", id.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}
