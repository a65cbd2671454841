//! JSON that remembers where it was written: in the source, or in a file.

mod text;
mod tokens;

use std::fmt::Write as _;

use proc_macro2::Span;

pub(crate) use text::parse as parse_text;
pub(crate) use tokens::decimal;

#[derive(Clone, Copy)]
pub(crate) enum Place {
    Token(Span),
    Line(usize),
}

#[derive(Clone)]
pub(crate) struct Json {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As JSON writes it.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<Member>),
}

#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) json: Json,
}

impl Json {
    pub(crate) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Json] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.members()
            .iter()
            .find(|member| member.key == key)
            .map(|member| &member.json)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match &self.value {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.number().is_some_and(|number| number.fract() == 0.0)
    }

    /// The value's type, in the words of JSON Schema.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) if self.is_integer() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    /// For the end of a message: `` `-1` ``, a string, an empty list.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            Value::Null | Value::Bool(_) | Value::Number(_) => format!("`{}`", self.render()),
            Value::String(_) => "a string".to_owned(),
            Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        }
    }

    /// Compact, in the order of the source.
    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        self.render_into(&mut out);
        out
    }

    fn render_into(&self, out: &mut String) {
        match &self.value {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => out.push_str(number),
            Value::String(text) => render_text(text, out),
            Value::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    item.render_into(out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (index, member) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    render_text(&member.key, out);
                    out.push(':');
                    member.json.render_into(out);
                }
                out.push('}');
            }
        }
    }
}

/// A JSON string, quotes included.
pub(crate) fn render_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a string cannot fail.
            control if control < ' ' => {
                _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
