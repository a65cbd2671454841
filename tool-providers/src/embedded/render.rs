//! The text of an answer, made from what the tools gave: the model itself writes no prose.

use std::fmt::Write;

use serde_json::Value;
use tool_core::Outcome;

/// What one call came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finished<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) outcome: Outcome,
    pub(super) text: &'a str,
}

/// The results of a round as text for the user: a single one as it is, several each under its tool.
pub(super) fn render(results: &[Finished<'_>]) -> String {
    if let [only] = results {
        return body(only);
    }
    let parts = results.iter().map(|result| {
        let twin = |other: &&Finished<'_>| other.name == result.name;
        let label = match results.iter().filter(twin).count() {
            1 => result.name.to_owned(),
            _ => format!("{}({})", result.name, inline(result.arguments)),
        };
        labelled(&label, result)
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// What is said where no tool fits, or none may be called.
pub(super) fn no_tool(names: &[&str]) -> String {
    match names {
        [] => "I can only call tools, and there is none that I may call.".to_owned(),
        names => format!(
            "None of my tools fits that. I can call: {}.",
            names.join(", ")
        ),
    }
}

fn labelled(label: &str, result: &Finished<'_>) -> String {
    if result.outcome != Outcome::Ok {
        return body(result);
    }
    let text = body(result);
    let gap = if text.contains('\n') { '\n' } else { ' ' };
    format!("{label}:{gap}{text}")
}

fn body(result: &Finished<'_>) -> String {
    let text = readable(result.text);
    let name = result.name;
    match result.outcome {
        Outcome::Ok => text,
        Outcome::Denied => format!("`{name}` was not allowed to run: {text}"),
        Outcome::NotStarted | Outcome::Cancelled => format!("`{name}` was stopped: {text}"),
        Outcome::TimedOut => format!("`{name}` took too long: {text}"),
        _ => format!("`{name}` failed: {text}"),
    }
}

/// JSON as lines that a person can read; other text as it is.
fn readable(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
            let mut lines = String::new();
            write_value(&mut lines, &value, 0);
            lines.trim_matches('\n').to_owned()
        }
        // A number is printed as the tool wrote it.
        _ => text.trim().to_owned(),
    }
}

fn write_value(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                write_member(out, &format!("{name}:"), member, indent);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                write_member(out, "-", item, indent);
            }
        }
        Value::String(text) => out.push_str(text),
        Value::Null => out.push_str("none"),
        Value::Object(_) | Value::Array(_) => out.push_str("nothing"),
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn write_member(out: &mut String, label: &str, member: &Value, indent: usize) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{:indent$}{label}", "");
    let nested = match member {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if !nested {
        out.push(' ');
    }
    write_value(out, member, indent + 2);
}

/// Arguments in one line: `path: a.txt, limit: 3`.
fn inline(arguments: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(arguments) else {
        return arguments.trim().to_owned();
    };
    let parts = members.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {value}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}
