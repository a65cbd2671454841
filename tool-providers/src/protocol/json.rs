//! Writing JSON into a buffer of bytes.

use serde::Serialize;

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

/// Appends `{"type":"…","…":` for a content part; the value and the brace are still to come.
pub(super) fn part(out: &mut Vec<u8>, kind: &str) {
    out.extend_from_slice(b"{\"type\":");
    value(out, kind);
    out.push(b',');
    key(out, kind);
}
