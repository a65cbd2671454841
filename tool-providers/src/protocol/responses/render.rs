//! A request to bytes.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tool_core::model::{RemoteApproval, RemoteMcp, Request};
use tool_core::{Calls, ModelError, ModelErrorKind, Tool, ToolChoice};

use super::super::body::Body;
use super::super::tools::{Declarations, is_deferred, keyed, not_strict};
use super::super::{json, schema};
use super::{Dialect, NAME, Responses, items};

/// The body in pieces: the tools, everything small, the instructions, the items, the end.
pub(super) fn request(
    protocol: &Responses,
    model: &str,
    request: &Request<'_>,
) -> Result<Vec<Bytes>, ModelError> {
    let dialect = protocol.dialect();
    let is_told = dialect.allowed_tools
        || request.allowed.is_none()
        || matches!(request.choice, ToolChoice::None | ToolChoice::Tool(_));
    let mut deferred = request.tools.deferred();
    let searches =
        dialect.tool_search && deferred.any(|tool| is_told || request.allows(tool.name()));
    let tools = match request.options.extra.contains_key("tools") {
        true => None,
        false => block(protocol, request, is_told, searches)?,
    };
    let mut servers = remote(dialect, request)?;
    if !searches && servers.iter().any(|server| server["defer_loading"] == true) {
        servers.push(json!({ "type": "tool_search" }));
    }
    let mut body = Body::new(request, NAME, tools, servers);
    let has_tools = body.has_tools();
    body.member("model", model);
    body.member("stream", &request.stream);
    body.member("store", &false);
    let mut without = dialect.without_reasoning.iter();
    if dialect.encrypted_reasoning && !without.any(|start| model.starts_with(start)) {
        body.member("include", &["reasoning.encrypted_content"]);
    }
    if let Some(temperature) = request.options.temperature {
        body.member("temperature", &temperature);
    }
    if let Some(limit) = request.options.max_tokens {
        body.member("max_output_tokens", &limit);
    }
    if has_tools {
        if let Some(choice) = choice(dialect, request) {
            body.member("tool_choice", &choice);
        }
        match request.calls {
            Calls::Many => body.member("parallel_tool_calls", &true),
            calls if calls.limit() == Some(1) => body.member("parallel_tool_calls", &false),
            _ => {}
        }
    }
    body.extras(&[]);
    if let Some(instructions) = request.instructions
        && body.is_ours("instructions")
    {
        let text = protocol.instructions(instructions);
        body.key("instructions").extend_from_slice(&text);
    }
    body.finish("input", || {
        let items = request.transcript.render(protocol.key, |all, done, out| {
            items::append(protocol, all, done, out)
        })?;
        Ok(vec![items])
    })
}

fn choice(dialect: &Dialect, request: &Request<'_>) -> Option<Value> {
    let function = |name: &str| json!({ "type": "function", "name": name });
    match (request.choice, request.allowed) {
        (ToolChoice::None, _) => Some("none".into()),
        (ToolChoice::Tool(name), _) => Some(function(name)),
        (choice, Some(allowed)) if dialect.allowed_tools => {
            let mode = match choice {
                ToolChoice::Required => "required",
                _ => "auto",
            };
            let tools: Vec<Value> = allowed.iter().map(|name| function(name)).collect();
            Some(json!({ "type": "allowed_tools", "mode": mode, "tools": tools }))
        }
        (ToolChoice::Required, _) => Some("required".into()),
        _ => None,
    }
}

/// `{"tools":[…`, the start of a body; `None` where no tool is declared.
fn block(
    protocol: &Responses,
    request: &Request<'_>,
    is_told: bool,
    searches: bool,
) -> Result<Option<Bytes>, ModelError> {
    let dialect = protocol.dialect();
    // A choice cannot name a tool that is still to be found.
    let named = match (request.choice, request.allowed) {
        (ToolChoice::Tool(name), _) => std::slice::from_ref(name),
        (ToolChoice::None, _) | (_, None) => &[],
        (_, Some(allowed)) => allowed,
    };
    let found = named.iter().filter(|name| is_deferred(request, name));
    Declarations {
        open: b"{\"tools\":[",
        key: keyed(protocol.key, found.map(String::as_str)),
        protocol: NAME,
        is_told,
        declare: &|out, tool| {
            let defers = dialect.tool_search && !named.iter().any(|name| name == tool.name());
            declare(out, tool, dialect, defers)
        },
        close: &|out| {
            if searches {
                json::separate(out);
                out.extend_from_slice(b"{\"type\":\"tool_search\"}");
            }
        },
    }
    .block(request)
}

fn declare(
    out: &mut Vec<u8>,
    tool: &dyn Tool,
    dialect: &Dialect,
    defers: bool,
) -> Result<(), ModelError> {
    let definition = tool.definition();
    json::typed(out, "function");
    json::member(out, "name", tool.name());
    if !definition.description().is_empty() {
        json::member(out, "description", definition.description());
    }
    out.extend_from_slice(b",\"parameters\":");
    // Left out, a host would try to be strict.
    let strict = dialect.strict && definition.strict() == Some(true);
    if strict {
        let lowered = schema::strict(definition.schema().as_value())
            .map_err(|fault| not_strict(tool, fault))?;
        json::value(out, &lowered);
    } else {
        out.extend_from_slice(definition.schema().as_json());
    }
    json::member(out, "strict", &strict);
    if defers && definition.is_deferred() {
        json::member(out, "defer_loading", &true);
    }
    out.push(b'}');
    Ok(())
}

/// The MCP servers that the provider calls.
fn remote(dialect: &Dialect, request: &Request<'_>) -> Result<Vec<Value>, ModelError> {
    let servers = &request.options.remote_mcp;
    match servers.first() {
        Some(server) if !dialect.remote_mcp => {
            let text = format!(
                "this provider calls no MCP servers itself: connect to `{}` from here and use its tools",
                server.label
            );
            Err(ModelError::new(ModelErrorKind::Configuration, text))
        }
        _ => Ok(servers
            .iter()
            .map(|server| remote_tool(server, dialect))
            .collect()),
    }
}

fn remote_tool(server: &RemoteMcp, dialect: &Dialect) -> Value {
    let approval = match &server.approval {
        RemoteApproval::Never => json!("never"),
        RemoteApproval::Except(names) => json!({ "never": { "tool_names": names } }),
        _ => json!("always"),
    };
    let mut tool = json!({
        "type": "mcp",
        "server_label": server.label,
        "server_url": server.url,
        "require_approval": approval,
    });
    if let Some(description) = &server.description {
        tool["server_description"] = description.as_str().into();
    }
    if let Some(names) = &server.allowed_tools {
        tool["allowed_tools"] = json!(names);
    }
    if let Some(token) = server.token() {
        tool["authorization"] = token.into();
    }
    if !server.headers().is_empty() {
        let headers = server.headers().iter();
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        tool["headers"] = headers.into();
    }
    if server.deferred && dialect.tool_search {
        tool["defer_loading"] = true.into();
    }
    tool
}
