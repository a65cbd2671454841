//! Messages to bytes.

use std::borrow::Cow;

use tool_core::{
    AssistantMessage, Block, Message, ModelError, ModelErrorKind, ToolCall, ToolResult, UserMessage,
};

use super::super::{NO_OUTPUT, is_remote, json};
use super::attachments::part;
use super::{ChatCompletions, Dialect};

/// The system message, with the comma that parts it from the next.
pub(super) fn system(instructions: &str) -> Vec<u8> {
    let mut out = Vec::from(b"{\"role\":\"system\",\"content\":");
    json::value(&mut out, instructions);
    out.extend_from_slice(b"},");
    out
}

/// Appends the messages after the first `done`.
pub(super) fn append(
    protocol: &ChatCompletions,
    messages: &[Message],
    done: usize,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    for (position, message) in messages.iter().enumerate().skip(done) {
        match message {
            Message::User(message) => user(protocol.dialect(), message, out)?,
            Message::Assistant(message) => assistant(protocol, message, out),
            Message::Tool(result) => {
                if !is_remote(messages, position) {
                    tool(protocol.dialect(), result, out);
                }
                if !matches!(messages.get(position + 1), Some(Message::Tool(_))) {
                    results_attachments(protocol.dialect(), &messages[..=position], out)?;
                }
            }
            _ => {
                let text = "a message of a kind that this protocol does not know";
                return Err(ModelError::new(ModelErrorKind::BadRequest, text));
            }
        }
    }
    Ok(())
}

fn user(dialect: &Dialect, message: &UserMessage, out: &mut Vec<u8>) -> Result<(), ModelError> {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
    if message.attachments.is_empty() {
        json::value(out, &message.text);
    } else {
        out.push(b'[');
        if !message.text.is_empty() {
            json::part(out, "text");
            json::value(out, &message.text);
            out.push(b'}');
        }
        for attachment in &message.attachments {
            json::separate(out);
            part(dialect, attachment, out)?;
        }
        out.push(b']');
    }
    out.push(b'}');
    Ok(())
}

fn assistant(protocol: &ChatCompletions, message: &AssistantMessage, out: &mut Vec<u8>) {
    let raw = message
        .raw
        .as_ref()
        .filter(|raw| raw.origin == protocol.origin);
    let members = raw.and_then(|raw| raw.json.strip_prefix('{')?.strip_suffix('}'));
    let members = members.unwrap_or_default();

    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"assistant\"");
    if !members.starts_with("\"content\":") {
        out.extend_from_slice(b",\"content\":");
        json::value(out, &*text(message));
    }
    if !members.is_empty() {
        out.push(b',');
        out.extend_from_slice(members.as_bytes());
    } else if protocol.dialect.reasoning_always
        && let Some(name) = protocol.dialect.reasoning.first()
    {
        out.push(b',');
        json::key(out, name);
        out.extend_from_slice(b"\"\"");
    }
    let calls = || message.tool_calls().filter(|call| call.server.is_none());
    for (position, tool_call) in calls().enumerate() {
        let before: &[u8] = if position == 0 {
            b",\"tool_calls\":["
        } else {
            b","
        };
        out.extend_from_slice(before);
        call(protocol.dialect(), tool_call, raw.is_some(), out);
    }
    if calls().next().is_some() {
        out.push(b']');
    }
    out.push(b'}');
}

fn call(dialect: &Dialect, call: &ToolCall, same_origin: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    json::value(out, &*dialect.call_ids.map(&call.id));
    out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
    json::value(out, &call.name);
    out.extend_from_slice(b",\"arguments\":");
    json::value(out, &*json::arguments(call.arguments.as_str()));
    out.push(b'}');
    if let Some(state) = call.provider_state.as_ref().filter(|_| same_origin)
        && let Some(members) = state
            .strip_prefix('{')
            .and_then(|state| state.strip_suffix('}'))
    {
        out.push(b',');
        out.extend_from_slice(members.as_bytes());
    }
    out.push(b'}');
}

fn tool(dialect: &Dialect, result: &ToolResult, out: &mut Vec<u8>) {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"tool\",\"tool_call_id\":");
    json::value(out, &*dialect.call_ids.map(&result.call_id));
    out.extend_from_slice(b",\"content\":");
    let text = if result.text.is_empty() {
        NO_OUTPUT
    } else {
        &result.text
    };
    json::value(out, text);
    out.push(b'}');
}

/// One user message with what the run of results at the end of `messages` carries beside text.
fn results_attachments(
    dialect: &Dialect,
    messages: &[Message],
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    let run = messages.iter().rev().map_while(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    let mut results: Vec<_> = run
        .filter(|result| !result.attachments.is_empty())
        .collect();
    results.reverse();
    if results.is_empty() {
        return Ok(());
    }
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"user\",\"content\":[");
    for result in results {
        json::separate(out);
        json::part(out, "text");
        let id = dialect.call_ids.map(&result.call_id);
        json::value(
            out,
            &format!("From the result of `{}` ({id}):", result.name),
        );
        out.push(b'}');
        for attachment in &result.attachments {
            json::separate(out);
            part(dialect, attachment, out)?;
        }
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

fn text(message: &AssistantMessage) -> Cow<'_, str> {
    let mut texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    match (texts.next(), texts.next()) {
        (Some(text), None) => text.into(),
        (None, _) => "".into(),
        _ => message.text().into(),
    }
}
