//! What a host wants echoed of its reasoning.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool_core::{AssistantMessage, Block, RawItems};

use super::super::json;
use super::{ChatCompletions, wire::Said};

/// What an answer held beside text and calls.
#[derive(Debug, Default)]
pub(super) struct Extras {
    reasoning_content: bool,
    reasoning: bool,
    /// The pieces of `reasoning_details`, merged.
    details: Vec<Map<String, Value>>,
    /// `extra_content` of the message, as JSON.
    content: Option<Box<RawValue>>,
    /// Whether a call has something to be echoed.
    pub(super) on_calls: bool,
    /// Whether reasoning came as a part of the content.
    pub(super) parts: bool,
}

/// The members of a reasoning detail whose pieces are joined.
const JOINED: [&str; 3] = ["text", "summary", "data"];

impl Extras {
    pub(super) fn take(&mut self, said: &Said<'_>) {
        self.reasoning_content |= !said.reasoning_content.0.is_empty();
        self.reasoning |= !said.reasoning.0.is_empty();
        if let Some(details) = said.reasoning_details
            && let Ok(details) = serde_json::from_str::<Vec<Map<String, Value>>>(details.get())
        {
            details.into_iter().for_each(|detail| self.detail(detail));
        }
        if let Some(content) = said.extra_content {
            self.content = Some(content.to_owned());
        }
    }

    /// A detail goes on where the last one has the same index and type.
    fn detail(&mut self, detail: Map<String, Value>) {
        let same = |known: &&mut Map<String, Value>| {
            let index = known.get("index").filter(|index| !index.is_null());
            index.is_some()
                && index == detail.get("index")
                && known.get("type") == detail.get("type")
        };
        let Some(known) = self.details.last_mut().filter(same) else {
            self.details.push(detail);
            return;
        };
        for (key, value) in detail {
            match (known.get_mut(&key), value) {
                (Some(Value::String(text)), Value::String(more)) if JOINED.contains(&&*key) => {
                    text.push_str(&more);
                }
                (Some(known), Value::Null) if !known.is_null() => {}
                (_, value) => {
                    known.insert(key, value);
                }
            }
        }
    }

    /// The members that the host wants back with this message, if any.
    pub(super) fn raw(
        &self,
        protocol: &ChatCompletions,
        message: &AssistantMessage,
    ) -> Option<RawItems> {
        let dialect = protocol.dialect();
        let mut out = Members::default();
        if dialect.content_parts && self.parts {
            parts(out.key("content"), &message.blocks);
        }
        match dialect.reasoning.iter().find(|name| self.has(name)) {
            Some(&"reasoning_details") => {
                json::value(out.key("reasoning_details"), &self.details);
            }
            Some(name) => json::value(out.key(name), &message.thinking()),
            None => {}
        }
        if let Some(content) = &self.content {
            json::value(out.key("extra_content"), content);
        }
        if out.0.is_empty() && !self.on_calls {
            return None;
        }
        let given = dialect.reasoning.iter().any(|name| self.has(name));
        if let Some(name) = dialect.reasoning.first()
            && dialect.reasoning_always
            && !given
        {
            json::value(out.key(name), "");
        }
        Some(RawItems {
            origin: protocol.origin.clone(),
            json: format!("{{{}}}", String::from_utf8_lossy(&out.0)),
        })
    }

    fn has(&self, name: &str) -> bool {
        match name {
            "reasoning_content" => self.reasoning_content,
            "reasoning" => self.reasoning,
            "reasoning_details" => !self.details.is_empty(),
            _ => false,
        }
    }
}

/// The members of an object, without its braces.
#[derive(Default)]
struct Members(Vec<u8>);

impl Members {
    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        json::key(&mut self.0, key);
        &mut self.0
    }
}

/// The blocks as parts of a content.
fn parts(out: &mut Vec<u8>, blocks: &[Block]) {
    out.push(b'[');
    for block in blocks {
        if !matches!(block, Block::ToolCall(_)) && !out.ends_with(b"[") {
            out.push(b',');
        }
        match block {
            Block::Text(text) => {
                json::part(out, "text");
                json::value(out, text);
                out.push(b'}');
            }
            Block::Thinking(text) => {
                json::part(out, "thinking");
                out.push(b'[');
                json::part(out, "text");
                json::value(out, text);
                out.extend_from_slice(b"}]}");
            }
            _ => {}
        }
    }
    out.push(b']');
}
