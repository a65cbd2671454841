//! Messages to the messages of a request.

use tool_core::{
    AssistantMessage, Attachment, AttachmentSource, Message, ModelError, ModelErrorKind, RawItems,
    ToolResult,
};

use super::super::attachment::{Kind, base64, kind, unsupported};
use super::super::{NO_OUTPUT, call_of, is_remote, json};
use super::NAME;

/// Appends the messages after the first `done`.
pub(super) fn append(
    messages: &[Message],
    done: usize,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    for (position, message) in messages.iter().enumerate().skip(done) {
        match message {
            Message::User(message) => user(&message.text, &message.attachments, out)?,
            Message::Assistant(message) => assistant(message, out),
            Message::Tool(result) => {
                if !is_remote(messages, position) {
                    // The name that the model called: a result may be that of the tool that was meant by it.
                    let name = call_of(messages, position).map_or(&result.name, |call| &call.name);
                    tool(name, result, out);
                }
                if !matches!(messages.get(position + 1), Some(Message::Tool(_))) {
                    follow_up(&messages[..=position], out)?;
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

/// A user message: words, and images beside them.
fn user(words: &str, attachments: &[Attachment], out: &mut Vec<u8>) -> Result<(), ModelError> {
    let mut words = words.to_owned();
    let mut images = Vec::new();
    for attachment in attachments {
        match (kind(attachment)?, &attachment.source) {
            (Kind::Text(text), _) => words = format!("{words}\n\n{text}"),
            (Kind::Image, AttachmentSource::Base64(data)) => images.push(data),
            (_, AttachmentSource::Url(_)) => {
                let what = format!("a URL of type {}", attachment.media_type);
                return Err(unsupported(&what));
            }
            _ => return Err(unsupported(&attachment.media_type)),
        }
    }
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"user\"");
    json::member(out, "content", &words);
    if !images.is_empty() {
        out.extend_from_slice(b",\"images\":[");
        for data in images {
            json::separate(out);
            base64(out, data);
        }
        out.push(b']');
    }
    out.push(b'}');
    Ok(())
}

/// What is kept of an answer to be sent back: its reasoning, which is Ollama's alone.
pub(super) fn raw(message: &AssistantMessage) -> Option<RawItems> {
    let thinking = message.thinking();
    if thinking.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    said(message, &thinking, &mut out);
    Some(RawItems {
        origin: NAME.into(),
        json: String::from_utf8(out).ok()?,
    })
}

fn assistant(message: &AssistantMessage, out: &mut Vec<u8>) {
    json::separate(out);
    match super::super::raw(Some(message), NAME) {
        Some(raw) => out.extend_from_slice(raw.as_bytes()),
        None => said(message, "", out),
    }
}

fn said(message: &AssistantMessage, thinking: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"role\":\"assistant\"");
    json::member(out, "content", &message.text());
    if !thinking.is_empty() {
        json::member(out, "thinking", thinking);
    }
    let calls = || message.tool_calls().filter(|call| call.server.is_none());
    for (position, call) in calls().enumerate() {
        let before: &[u8] = match position {
            0 => b",\"tool_calls\":[",
            _ => b",",
        };
        out.extend_from_slice(before);
        out.extend_from_slice(b"{\"id\":");
        json::value(out, &call.id);
        out.extend_from_slice(b",\"function\":{\"name\":");
        json::value(out, &call.name);
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(json::arguments(call.arguments.as_str()).as_bytes());
        out.extend_from_slice(b"}}");
    }
    if calls().next().is_some() {
        out.push(b']');
    }
    out.push(b'}');
}

fn tool(name: &str, result: &ToolResult, out: &mut Vec<u8>) {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"tool\"");
    json::member(out, "tool_name", name);
    json::member(out, "tool_call_id", &result.call_id);
    let words = match result.text.is_empty() {
        true => NO_OUTPUT,
        false => &result.text,
    };
    json::member(out, "content", words);
    out.push(b'}');
}

/// A user message for each result of the run at the end of `messages` that carries images or files.
fn follow_up(messages: &[Message], out: &mut Vec<u8>) -> Result<(), ModelError> {
    let run = messages.iter().rev().map_while(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    let mut results: Vec<_> = run
        .filter(|result| !result.attachments.is_empty())
        .collect();
    results.reverse();
    for result in results {
        let words = format!("From the result of `{}`:", result.name);
        user(&words, &result.attachments, out)?;
    }
    Ok(())
}
