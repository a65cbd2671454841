//! Messages to the contents of a request.

use tool_core::{
    AssistantMessage, Attachment, AttachmentSource, Block, Message, ModelError, ModelErrorKind,
    ToolResult, UserMessage,
};

use super::super::attachment::{Kind, base64, kind, unsupported};
use super::super::{NO_OUTPUT, answer_before, call_of, is_remote, json, raw};
use super::Gemini;

/// What stands for a message without words, which the provider refuses.
const NO_WORDS: &str = "(no words)";

/// The signature of a call that another model made, as Gemini's documentation gives it.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Appends the messages after the first `done`.
pub(super) fn append(
    protocol: &Gemini,
    messages: &[Message],
    done: usize,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    for (position, message) in messages.iter().enumerate().skip(done) {
        match message {
            Message::User(message) => user(message, out)?,
            Message::Assistant(message) => assistant(protocol, message, out),
            // All results of a turn are in one content; what they carry beside text comes after them.
            Message::Tool(_) if position > done && is_result(messages, position - 1) => {}
            Message::Tool(_) => results(protocol, messages, position, out)?,
            _ => {
                let text = "a message of a kind that this protocol does not know";
                return Err(ModelError::new(ModelErrorKind::BadRequest, text));
            }
        }
    }
    Ok(())
}

fn is_result(messages: &[Message], position: usize) -> bool {
    matches!(messages[position], Message::Tool(_))
}

fn user(message: &UserMessage, out: &mut Vec<u8>) -> Result<(), ModelError> {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"user\",\"parts\":[");
    if !message.text.is_empty() || message.attachments.is_empty() {
        let words = match message.text.is_empty() {
            true => NO_WORDS,
            false => &message.text,
        };
        text(words, out);
    }
    for attachment in &message.attachments {
        part(attachment, out)?;
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

fn assistant(protocol: &Gemini, message: &AssistantMessage, out: &mut Vec<u8>) {
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"model\",\"parts\":");
    match raw(Some(message), &protocol.origin) {
        Some(parts) => out.extend_from_slice(parts.as_bytes()),
        None => blocks(message, out),
    }
    out.push(b'}');
}

/// An answer that is words alone, or of another provider. Reasoning need not be sent back.
fn blocks(message: &AssistantMessage, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut signed = false;
    for block in &message.blocks {
        match block {
            Block::Text(words) if !words.is_empty() => text(words, out),
            Block::ToolCall(call) if call.server.is_none() => {
                json::separate(out);
                out.extend_from_slice(b"{\"functionCall\":{\"name\":");
                json::value(out, &call.name);
                out.extend_from_slice(b",\"args\":");
                out.extend_from_slice(json::arguments(call.arguments.as_str()).as_bytes());
                out.push(b'}');
                // Of the calls of one answer only the first is signed.
                if !std::mem::replace(&mut signed, true) {
                    json::member(out, "thoughtSignature", NO_SIGNATURE);
                }
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

/// The run of results that begins at `start`.
fn results(
    protocol: &Gemini,
    messages: &[Message],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    let run = messages[start..].iter().map_while(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    let run: Vec<(usize, &ToolResult)> = run
        .enumerate()
        .map(|(offset, result)| (start + offset, result))
        .filter(|(position, _)| !is_remote(messages, *position))
        .collect();
    if run.is_empty() {
        return Ok(());
    }
    let is_ours = raw(answer_before(messages, start), &protocol.origin).is_some();
    json::separate(out);
    out.extend_from_slice(b"{\"role\":\"user\",\"parts\":[");
    for (position, result) in &run {
        json::separate(out);
        out.extend_from_slice(b"{\"functionResponse\":{");
        // An id is sent back where one was given; else the order says which call is meant.
        let call = call_of(messages, *position);
        let given = call.and_then(|call| call.provider_state.as_deref());
        if let Some(given) = given.filter(|_| is_ours) {
            out.extend_from_slice(b"\"id\":");
            out.extend_from_slice(given.as_bytes());
            out.push(b',');
        }
        json::key(out, "name");
        // The name that the model called: a result may be that of the tool that was meant by it.
        json::value(out, call.map_or(&result.name, |call| &call.name));
        out.extend_from_slice(b",\"response\":{");
        json::key(out, if result.is_error() { "error" } else { "output" });
        let words = match result.text.is_empty() {
            true => NO_OUTPUT,
            false => &result.text,
        };
        json::value(out, words);
        out.extend_from_slice(b"}}}");
    }
    let results = run.iter().map(|(_, result)| result);
    for result in results.filter(|result| !result.attachments.is_empty()) {
        text(&format!("From the result of `{}`:", result.name), out);
        for attachment in &result.attachments {
            part(attachment, out)?;
        }
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

fn text(words: &str, out: &mut Vec<u8>) {
    json::separate(out);
    out.extend_from_slice(b"{\"text\":");
    json::value(out, words);
    out.push(b'}');
}

/// Whether files of a type other than images and PDF are read.
fn is_read(media_type: &str) -> bool {
    ["audio/", "video/", "text/"]
        .iter()
        .any(|start| media_type.starts_with(start))
}

fn part(attachment: &Attachment, out: &mut Vec<u8>) -> Result<(), ModelError> {
    match kind(attachment)? {
        Kind::Text(words) => {
            text(&words, out);
            return Ok(());
        }
        Kind::Other(kind) if !is_read(kind) => return Err(unsupported(kind)),
        _ => {}
    }
    json::separate(out);
    match &attachment.source {
        AttachmentSource::Base64(data) => {
            out.extend_from_slice(b"{\"inlineData\":{\"mimeType\":");
            json::value(out, &attachment.media_type);
            out.extend_from_slice(b",\"data\":");
            base64(out, data);
        }
        AttachmentSource::Url(address) => {
            out.extend_from_slice(b"{\"fileData\":{\"mimeType\":");
            json::value(out, &attachment.media_type);
            json::member(out, "fileUri", address);
        }
    }
    out.extend_from_slice(b"}}");
    Ok(())
}
