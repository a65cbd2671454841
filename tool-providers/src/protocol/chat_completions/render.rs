//! A request to bytes.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use tool_core::model::Request;
use tool_core::{Calls, ModelError, ToolChoice};

use super::super::json;
use super::{ChatCompletions, Dialect, messages, tools};

/// The body in pieces: the tools, everything small, the system message, the messages, the end.
pub(super) fn request(
    protocol: &ChatCompletions,
    model: &str,
    request: &Request<'_>,
) -> Result<Vec<Bytes>, ModelError> {
    let extra = &request.options.extra;
    let mut pieces = Vec::with_capacity(5);
    let tools = match extra.contains_key("tools") {
        true => None,
        false => tools::block(protocol, request.tools, request.choice)?,
    };
    let has_tools = tools.is_some();
    pieces.extend(tools);

    let mut head = Head {
        out: Vec::with_capacity(256),
        extra,
        empty: !has_tools,
    };
    head.members(protocol.dialect(), model, request, has_tools);
    if extra.contains_key("messages") {
        head.out.push(b'}');
        pieces.push(head.out.into());
        return Ok(pieces);
    }
    head.key("messages");
    head.out.push(b'[');
    pieces.push(head.out.into());

    let messages = request.transcript.render(protocol.key, |all, done, out| {
        messages::append(protocol, all, done, out)
    })?;
    if let Some(instructions) = request.instructions {
        let system = protocol.system(instructions);
        let comma = usize::from(messages.is_empty());
        pieces.push(system.slice(..system.len() - comma));
    }
    pieces.push(messages);
    pieces.push(Bytes::from_static(b"]}"));
    Ok(pieces)
}

/// The members of the body but for the tools and the messages.
struct Head<'a> {
    out: Vec<u8>,
    /// The user's own members, which replace ours.
    extra: &'a Map<String, Value>,
    empty: bool,
}

impl Head<'_> {
    fn members(&mut self, dialect: &Dialect, model: &str, request: &Request<'_>, has_tools: bool) {
        self.member("model", model);
        self.member("stream", &request.stream);
        if request.stream && dialect.stream_options && self.is_ours("stream_options") {
            self.key("stream_options");
            self.out.extend_from_slice(b"{\"include_usage\":true}");
        }
        if let Some(temperature) = request.options.temperature {
            self.member("temperature", &temperature);
        }
        if let Some(limit) = request.options.max_tokens
            && self.is_ours("max_tokens")
            && self.is_ours("max_completion_tokens")
        {
            self.member(dialect.max_tokens, &limit);
        }
        if has_tools {
            self.tool_choice(dialect, request.choice);
            let parallel = match request.calls {
                Calls::Many => Some(true),
                calls => calls.limit().filter(|limit| *limit == 1).map(|_| false),
            };
            if let Some(parallel) = parallel
                && dialect.parallel_tool_calls
            {
                self.member("parallel_tool_calls", &parallel);
            }
        }
        for (key, value) in self.extra {
            self.key(key);
            json::value(&mut self.out, value);
        }
    }

    fn tool_choice(&mut self, dialect: &Dialect, choice: &ToolChoice) {
        if !dialect.tool_choice || !self.is_ours("tool_choice") {
            return;
        }
        match choice {
            ToolChoice::Required => self.member("tool_choice", dialect.required),
            ToolChoice::None => self.member("tool_choice", "none"),
            ToolChoice::Tool(name) => {
                self.key("tool_choice");
                self.out
                    .extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
                json::value(&mut self.out, name);
                self.out.extend_from_slice(b"}}");
            }
            // What a host does unasked.
            _ => {}
        }
    }

    fn is_ours(&self, key: &str) -> bool {
        !self.extra.contains_key(key)
    }

    fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        if self.is_ours(key) {
            self.key(key);
            json::value(&mut self.out, value);
        }
    }

    fn key(&mut self, key: &str) {
        self.out.push(if self.empty { b'{' } else { b',' });
        self.empty = false;
        json::key(&mut self.out, key);
    }
}
