//! What a model reads of a fault.

use serde_json::Value;

use super::{Fault, Kind, Node};

const NAMES: [(u8, &str); 7] = [
    (Kind::STRING, "a string"),
    (Kind::NUMBER, "a number"),
    (Kind::INTEGER, "an integer"),
    (Kind::BOOLEAN, "a boolean"),
    (Kind::ARRAY, "an array"),
    (Kind::OBJECT, "an object"),
    (Kind::NULL, "null"),
];

pub(super) fn not_json(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let text = match text.rsplit_once(" at line ") {
        Some((what, _)) => what,
        None => &text,
    };
    let place = match error.line() {
        0 | 1 => format!("column {}", error.column()),
        line => format!("line {line}, column {}", error.column()),
    };
    let text = match error.is_data() {
        true => format!("{text} ({place})"),
        false => format!("not valid JSON at {place}: {text}"),
    };
    Fault {
        path: String::new(),
        text,
    }
}

pub(super) fn expected(node: &Node) -> String {
    if let Some(values) = &node.values {
        return one_of(values.iter());
    }
    let mut names = Vec::new();
    let mut rest = node.kinds;
    for (kind, name) in NAMES {
        if rest & kind == kind {
            names.push(name);
            rest &= !kind;
        }
    }
    match names.as_slice() {
        [] => "another value".into(),
        names => names.join(" or "),
    }
}

pub(super) fn one_of<'a>(values: impl ExactSizeIterator<Item = &'a Value>) -> String {
    let count = values.len();
    let shown: Vec<String> = values
        .take(50)
        .map(|value| format!("`{}`", plain(value)))
        .collect();
    match (shown.as_slice(), count) {
        ([only], _) => only.clone(),
        (shown, count) if count > shown.len() => {
            format!("one of {} … ({count} values)", shown.join(", "))
        }
        (shown, _) => format!("one of {}", shown.join(", ")),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn got(value: &Value) -> String {
    match value {
        Value::String(text) => match text.char_indices().nth(60) {
            Some((end, _)) => format!("the string {:?}…", &text[..end]),
            None => format!("the string {text:?}"),
        },
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
        other => other.to_string(),
    }
}

/// An object that has keys of these names.
pub(super) fn object_with<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.take(10).map(|name| format!("`{name}`")).collect();
    match names.is_empty() {
        true => "an object".into(),
        false => format!("an object with {}", names.join(", ")),
    }
}

pub(super) fn known<'a>(
    names: impl Iterator<Item = &'a str>,
    patterns: impl Iterator<Item = &'a str>,
) -> String {
    let quoted = |text: &str| format!("`{text}`");
    let names: Vec<String> = names.map(quoted).collect();
    let patterns: Vec<String> = patterns.map(quoted).collect();
    match (names.as_slice(), patterns.as_slice()) {
        ([], []) => "there are none".into(),
        (names, []) => format!("the known keys are {}", names.join(", ")),
        ([], patterns) => format!("keys match {}", patterns.join(" or ")),
        (names, patterns) => {
            let (names, patterns) = (names.join(", "), patterns.join(" or "));
            format!("the known keys are {names}, and those that match {patterns}")
        }
    }
}
