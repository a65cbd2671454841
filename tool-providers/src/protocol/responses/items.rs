//! Messages to the items of an input.

use std::borrow::Cow;

use serde_json::Value;
use tool_core::{
    AssistantMessage, Attachment, AttachmentSource, Block, Message, ModelError, ModelErrorKind,
    Outcome, ToolCall, ToolResult, UserMessage,
};

use super::super::attachment::{Kind, kind, unsupported, url};
use super::super::{NO_OUTPUT, answer_before, is_remote, json, raw};
use super::Responses;

/// The longest id of a call.
const LONGEST_ID: usize = 64;

/// Appends the messages after the first `done`.
pub(super) fn append(
    protocol: &Responses,
    messages: &[Message],
    done: usize,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    for (position, message) in messages.iter().enumerate().skip(done) {
        match message {
            Message::User(message) => user(message, out)?,
            Message::Assistant(message) => assistant(protocol, message, out),
            Message::Tool(result) => {
                let is_ours = items(protocol, answer_before(messages, position)).is_some();
                match (is_remote(messages, position), is_ours) {
                    (true, true) => approval(result, out),
                    (true, false) => {}
                    (false, true) => output(protocol, result, &result.call_id, out)?,
                    (false, false) => output(protocol, result, &call_id(&result.call_id), out)?,
                }
                if !matches!(messages.get(position + 1), Some(Message::Tool(_))) {
                    follow_up(protocol, &messages[..=position], out)?;
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

fn user(message: &UserMessage, out: &mut Vec<u8>) -> Result<(), ModelError> {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
    if message.attachments.is_empty() {
        json::value(out, &message.text);
    } else {
        parts(&message.text, &message.attachments, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// What the answer was in the provider's own words, if they are this provider's.
fn items<'m>(protocol: &Responses, answer: Option<&'m AssistantMessage>) -> Option<&'m str> {
    let items = raw(answer, &protocol.origin)?;
    let items = items.strip_prefix('[')?.strip_suffix(']')?;
    (!items.is_empty()).then_some(items)
}

fn assistant(protocol: &Responses, message: &AssistantMessage, out: &mut Vec<u8>) {
    if let Some(items) = items(protocol, Some(message)) {
        json::separate(out);
        out.extend_from_slice(items.as_bytes());
        return;
    }
    for block in &message.blocks {
        match block {
            Block::Text(text) if !text.is_empty() => {
                json::separate(out);
                out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
                json::value(out, text);
                out.push(b'}');
            }
            Block::ToolCall(call) if call.server.is_none() => function_call(call, out),
            _ => {}
        }
    }
}

fn function_call(call: &ToolCall, out: &mut Vec<u8>) {
    json::separate(out);
    json::typed(out, "function_call");
    json::member(out, "call_id", &*call_id(&call.id));
    json::member(out, "name", &call.name);
    json::member(out, "arguments", &*json::arguments(call.arguments.as_str()));
    out.push(b'}');
}

fn output(
    protocol: &Responses,
    result: &ToolResult,
    id: &str,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    json::separate(out);
    json::typed(out, "function_call_output");
    json::member(out, "call_id", id);
    out.extend_from_slice(b",\"output\":");
    if protocol.dialect().attachments_in_results && !result.attachments.is_empty() {
        parts(&result.text, &result.attachments, out)?;
    } else if result.text.is_empty() {
        json::value(out, NO_OUTPUT);
    } else {
        json::value(out, &result.text);
    }
    out.push(b'}');
    Ok(())
}

/// One user item with what the run of results at the end of `messages` carries beside text, where a
/// result cannot.
fn follow_up(
    protocol: &Responses,
    messages: &[Message],
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    if protocol.dialect().attachments_in_results {
        return Ok(());
    }
    let run = messages.iter().rev().map_while(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    let mut results: Vec<_> = run
        .filter(|result| !result.attachments.is_empty())
        .collect();
    results.reverse();
    for result in results {
        json::separate(out);
        out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
        let text = format!("From the result of `{}`:", result.name);
        parts(&text, &result.attachments, out)?;
        out.push(b'}');
    }
    Ok(())
}

/// The decision on a call that the provider runs.
fn approval(result: &ToolResult, out: &mut Vec<u8>) {
    json::separate(out);
    json::typed(out, "mcp_approval_response");
    json::member(out, "approval_request_id", &result.call_id);
    json::member(out, "approve", &(result.outcome == Outcome::Approved));
    if result.outcome != Outcome::Approved {
        let told: Option<Value> = serde_json::from_str(&result.text).ok();
        let reason = match &told {
            Some(told) => told["reason"].as_str(),
            None => Some(result.text.as_str()),
        };
        if let Some(reason) = reason {
            json::member(out, "reason", reason);
        }
    }
    out.push(b'}');
}

fn parts(text: &str, attachments: &[Attachment], out: &mut Vec<u8>) -> Result<(), ModelError> {
    out.push(b'[');
    if !text.is_empty() {
        input_text(text, out);
    }
    for attachment in attachments {
        json::separate(out);
        match (kind(attachment)?, &attachment.source) {
            (Kind::Image, _) => {
                json::part_as(out, "input_image", "image_url");
                url(out, attachment);
                out.push(b'}');
            }
            (Kind::Text(text), _) => input_text(&text, out),
            (Kind::Pdf, AttachmentSource::Base64(_)) => {
                json::typed(out, "input_file");
                let name = attachment.name.as_deref().unwrap_or("file.pdf");
                json::member(out, "filename", name);
                out.extend_from_slice(b",\"file_data\":");
                url(out, attachment);
                out.push(b'}');
            }
            (Kind::Pdf, AttachmentSource::Url(address)) => {
                json::part_as(out, "input_file", "file_url");
                json::value(out, address);
                out.push(b'}');
            }
            (Kind::Other(kind), _) => return Err(unsupported(kind)),
        }
    }
    out.push(b']');
    Ok(())
}

fn input_text(text: &str, out: &mut Vec<u8>) {
    json::part_as(out, "input_text", "text");
    json::value(out, text);
    out.push(b'}');
}

/// The id in the form in which it is sent; one that is too long is another provider's.
fn call_id(id: &str) -> Cow<'_, str> {
    match id.len() <= LONGEST_ID {
        true => id.into(),
        false => json::digest(id).into(),
    }
}
