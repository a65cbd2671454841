//! Messages to the messages of a request.

use std::borrow::Cow;

use serde_json::Value;
use tool_core::{
    AssistantMessage, Attachment, AttachmentSource, Block, Message, ModelError, ModelErrorKind,
    ToolResult, UserMessage,
};

use super::super::attachment::{Kind, base64, kind, unsupported};
use super::super::{NO_OUTPUT, answer_before, is_remote, json, raw};
use super::Anthropic;

/// What stands for a message without words, which the provider refuses.
const NO_WORDS: &str = "(no words)";

/// Appends the messages after the first `done`. `searches`: whether the provider searches tools.
pub(super) fn append(
    protocol: &Anthropic,
    searches: bool,
    messages: &[Message],
    done: usize,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    for (position, message) in messages.iter().enumerate().skip(done) {
        match message {
            Message::User(message) => user(message, out)?,
            Message::Assistant(message) => assistant(protocol, searches, message, out),
            // All results of a turn are in one message.
            Message::Tool(result) if !is_remote(messages, position) => {
                let run = (done..position).rev();
                let follows = run
                    .take_while(|before| matches!(messages[*before], Message::Tool(_)))
                    .any(|before| !is_remote(messages, before));
                match follows {
                    true => out.truncate(out.len() - b"]}".len()),
                    false => {
                        json::separate(out);
                        out.extend_from_slice(b"{\"role\":\"user\",\"content\":[");
                    }
                }
                let is_ours = raw(answer_before(messages, position), &protocol.origin).is_some();
                let id = match is_ours {
                    true => result.call_id.as_str().into(),
                    false => call_id(&result.call_id),
                };
                tool_result(result, &id, out)?;
                out.extend_from_slice(b"]}");
            }
            Message::Tool(_) => {}
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
        json::value(out, words(&message.text));
    } else {
        out.push(b'[');
        for attachment in &message.attachments {
            json::separate(out);
            part(attachment, out)?;
        }
        if !message.text.trim().is_empty() {
            json::separate(out);
            text(&message.text, out);
        }
        out.push(b']');
    }
    out.push(b'}');
    Ok(())
}

fn words(text: &str) -> &str {
    match text.trim().is_empty() {
        true => NO_WORDS,
        false => text,
    }
}

fn assistant(protocol: &Anthropic, searches: bool, message: &AssistantMessage, out: &mut Vec<u8>) {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
    match raw(Some(message), &protocol.origin) {
        Some(raw) if searches || !raw.contains("\"tool_search_tool") => {
            out.extend_from_slice(raw.as_bytes());
        }
        Some(raw) => json::value(out, &without_search(raw)),
        None => blocks(message, out),
    }
    out.push(b'}');
}

/// The blocks of an answer but for those of a search.
fn without_search(raw: &str) -> Vec<Value> {
    let blocks: Vec<Value> = serde_json::from_str(raw).unwrap_or_default();
    let is_search = |block: &Value| {
        let of_search = |member: &str| {
            block[member]
                .as_str()
                .is_some_and(|text| text.starts_with("tool_search_tool"))
        };
        of_search("type") || (block["type"] == "server_tool_use" && of_search("name"))
    };
    let mut blocks: Vec<Value> = blocks
        .into_iter()
        .filter(|block| !is_search(block))
        .collect();
    if blocks.is_empty() {
        blocks.push(serde_json::json!({ "type": "text", "text": NO_WORDS }));
    }
    blocks
}

/// An answer of another provider. Its reasoning means nothing here.
fn blocks(message: &AssistantMessage, out: &mut Vec<u8>) {
    out.push(b'[');
    for block in &message.blocks {
        match block {
            Block::Text(words) if !words.trim().is_empty() => {
                json::separate(out);
                text(words, out);
            }
            Block::ToolCall(call) if call.server.is_none() => {
                json::separate(out);
                json::typed(out, "tool_use");
                json::member(out, "id", &*call_id(&call.id));
                json::member(out, "name", &call.name);
                out.extend_from_slice(b",\"input\":");
                out.extend_from_slice(json::arguments(call.arguments.as_str()).as_bytes());
                out.push(b'}');
            }
            _ => {}
        }
    }
    if out.ends_with(b"[") {
        text(NO_WORDS, out);
    }
    out.push(b']');
}

fn tool_result(result: &ToolResult, id: &str, out: &mut Vec<u8>) -> Result<(), ModelError> {
    json::separate(out);
    json::typed(out, "tool_result");
    json::member(out, "tool_use_id", id);
    out.extend_from_slice(b",\"content\":");
    let words = match result.text.trim().is_empty() {
        true => NO_OUTPUT,
        false => &result.text,
    };
    if result.attachments.is_empty() {
        json::value(out, words);
    } else {
        out.push(b'[');
        text(words, out);
        for attachment in &result.attachments {
            json::separate(out);
            part(attachment, out)?;
        }
        out.push(b']');
    }
    if result.is_error() {
        json::member(out, "is_error", &true);
    }
    out.push(b'}');
    Ok(())
}

fn text(words: &str, out: &mut Vec<u8>) {
    json::part(out, "text");
    json::value(out, words);
    out.push(b'}');
}

fn part(attachment: &Attachment, out: &mut Vec<u8>) -> Result<(), ModelError> {
    let kind = match kind(attachment)? {
        Kind::Image => "image",
        Kind::Pdf => "document",
        Kind::Text(words) => {
            text(&words, out);
            return Ok(());
        }
        Kind::Other(kind) => return Err(unsupported(kind)),
    };
    json::typed(out, kind);
    out.extend_from_slice(b",\"source\":");
    match &attachment.source {
        AttachmentSource::Base64(data) => {
            json::typed(out, "base64");
            json::member(out, "media_type", &attachment.media_type);
            out.extend_from_slice(b",\"data\":");
            base64(out, data);
        }
        AttachmentSource::Url(address) => {
            json::typed(out, "url");
            json::member(out, "url", address);
        }
    }
    out.push(b'}');
    if let Some(name) = attachment.name.as_ref().filter(|_| kind == "document") {
        json::member(out, "title", name);
    }
    out.push(b'}');
    Ok(())
}

/// The id in the form in which it is sent. Another form than the provider's own is another provider's.
fn call_id(id: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match !id.is_empty() && id.bytes().all(plain) {
        true => id.into(),
        false => json::digest(id).into(),
    }
}
