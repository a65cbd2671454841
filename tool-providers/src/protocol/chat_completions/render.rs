//! A request to bytes.

use bytes::Bytes;
use serde_json::{Value, json};
use tool_core::model::Request;
use tool_core::{Calls, ModelError, ModelErrorKind, ToolChoice};

use super::super::body::Body;
use super::{ChatCompletions, Dialect, NAME, messages, tools};

/// The body in pieces: the tools, everything small, the system message, the messages, the end.
pub(super) fn request(
    protocol: &ChatCompletions,
    model: &str,
    request: &Request<'_>,
) -> Result<Vec<Bytes>, ModelError> {
    if let Some(server) = request.options.remote_mcp.first() {
        let text = format!(
            "this provider calls no MCP servers itself: connect to `{}` from here and use its tools",
            server.label
        );
        return Err(ModelError::new(ModelErrorKind::Configuration, text));
    }
    let tools = match request.options.extra.contains_key("tools") {
        true => None,
        false => tools::block(protocol, request)?,
    };
    let mut body = Body::new(request, NAME, tools, Vec::new());
    members(&mut body, protocol.dialect(), model, request);
    body.finish("messages", || {
        let messages = request.transcript.render(protocol.key, |all, done, out| {
            messages::append(protocol, all, done, out)
        })?;
        let system = request.instructions.map(|instructions| {
            let system = protocol.system(instructions);
            let comma = usize::from(messages.is_empty());
            system.slice(..system.len() - comma)
        });
        Ok(system.into_iter().chain([messages]).collect())
    })
}

/// The members of the body but for the tools and the messages.
fn members(body: &mut Body<'_>, dialect: &Dialect, model: &str, request: &Request<'_>) {
    let has_tools = body.has_tools();
    body.member("model", model);
    body.member("stream", &request.stream);
    if request.stream && dialect.stream_options {
        body.member("stream_options", &json!({ "include_usage": true }));
    }
    if let Some(temperature) = request.options.temperature {
        body.member("temperature", &temperature);
    }
    if let Some(limit) = request.options.max_tokens
        && body.is_ours("max_tokens")
        && body.is_ours("max_completion_tokens")
    {
        body.member(dialect.max_tokens, &limit);
    }
    if has_tools {
        if let Some(choice) = choice(dialect, request) {
            body.member("tool_choice", &choice);
        }
        let parallel = match request.calls {
            Calls::Many => Some(true),
            calls => calls.limit().filter(|limit| *limit == 1).map(|_| false),
        };
        if let Some(parallel) = parallel
            && dialect.parallel_tool_calls
        {
            body.member("parallel_tool_calls", &parallel);
        }
    }
    body.extras(&[]);
}

/// What is said of the choice; nothing where it is what a host does unasked.
fn choice(dialect: &Dialect, request: &Request<'_>) -> Option<Value> {
    let function = |name: &str| json!({ "type": "function", "function": { "name": name } });
    match (request.choice, request.allowed) {
        _ if !dialect.tool_choice => None,
        (ToolChoice::None, _) => Some("none".into()),
        (ToolChoice::Tool(name), _) => Some(function(name)),
        (choice, Some(allowed)) if dialect.allowed_tools => {
            let mode = match choice {
                ToolChoice::Required => "required",
                _ => "auto",
            };
            let tools: Vec<Value> = allowed.iter().map(|name| function(name)).collect();
            Some(
                json!({ "type": "allowed_tools", "allowed_tools": { "mode": mode, "tools": tools } }),
            )
        }
        (ToolChoice::Required, _) => Some(dialect.required.into()),
        _ => None,
    }
}
