//! A request to bytes.

use std::cell::Cell;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tool_core::model::{RemoteApproval, RemoteMcp, Request};
use tool_core::{ModelError, ModelErrorKind, Tool, ToolChoice};

use super::super::body::Body;
use super::super::json;
use super::super::tools::{Declarations, not_strict};
use super::schema::Limits;
use super::{Anthropic, Dialect, NAME, messages, schema};

/// The tool by which the provider searches deferred ones.
const SEARCH: &str = r#"{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}"#;

/// The body in pieces: the tools, everything small, the system prompt, the messages, the end.
pub(super) fn request(
    protocol: &Anthropic,
    model: &str,
    request: &Request<'_>,
) -> Result<Vec<Bytes>, ModelError> {
    let dialect = protocol.dialect();
    let thinking = request
        .options
        .extra
        .get("thinking")
        .unwrap_or(&Value::Null);
    // Where the model thinks by a budget, it cannot be made to call a tool, only told to.
    let is_told = thinking["type"] == "enabled" && request.choice.is_forced();
    let trims = request.allowed.is_some()
        && match request.choice {
            ToolChoice::None => false,
            ToolChoice::Tool(_) => is_told,
            _ => true,
        };
    let mut deferred = request.tools.deferred();
    let searches_ours =
        dialect.tool_search && deferred.any(|tool| !trims || request.allows(tool.name()));
    let tools = match request.options.extra.contains_key("tools") {
        true => None,
        false => block(protocol, request, trims, searches_ours)?,
    };
    let servers = &request.options.remote_mcp;
    let toolsets = servers.iter().map(|server| toolset(server, dialect));
    let mut remote = toolsets.collect::<Result<Vec<_>, _>>()?;
    let searches_theirs = dialect.tool_search && servers.iter().any(|server| server.deferred);
    if searches_theirs && !searches_ours {
        remote.extend(serde_json::from_str(SEARCH));
    }
    let mut body = Body::new(request, NAME, tools, remote);
    let has_tools = body.has_tools();
    if !servers.is_empty() {
        let servers: Vec<Value> = servers.iter().map(server).collect();
        body.member("mcp_servers", &servers);
    }
    body.member("model", model);
    let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
    match request.options.max_tokens {
        Some(limit) => body.member("max_tokens", &limit),
        None => body.member("max_tokens", &(budget + u64::from(dialect.max_tokens))),
    }
    body.member("stream", &request.stream);
    if let Some(temperature) = request.options.temperature {
        body.member("temperature", &temperature);
    }
    if has_tools && let Some(choice) = choice(request, is_told) {
        body.member("tool_choice", &choice);
    }
    body.extras(&[]);
    if body.is_ours("system") {
        let told = is_told.then(|| demand(request.choice));
        let texts: Vec<&str> = request
            .instructions
            .into_iter()
            .chain(told.as_deref())
            .collect();
        if !texts.is_empty() {
            body.member("system", &texts.join("\n\n"));
        }
    }
    // What a search found is taken back only while there is a search.
    let searches = searches_ours || searches_theirs;
    let key = protocol.key ^ u64::from(searches);
    body.finish("messages", || {
        let messages = request.transcript.render(key, |all, done, out| {
            messages::append(protocol, searches, all, done, out)
        })?;
        Ok(vec![messages])
    })
}

fn choice(request: &Request<'_>, is_told: bool) -> Option<Value> {
    let one = request.calls.limit() == Some(1);
    let mut choice = match request.choice {
        ToolChoice::None => return Some(json!({ "type": "none" })),
        _ if is_told => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
        _ if one => json!({ "type": "auto" }),
        _ => return None,
    };
    if one {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

fn demand(choice: &ToolChoice) -> String {
    match choice {
        ToolChoice::Tool(name) => format!("Call the tool `{name}` now."),
        _ => "Call one of the tools now.".into(),
    }
}

/// `{"tools":[…`, the start of a body; `None` where no tool is declared.
fn block(
    protocol: &Anthropic,
    request: &Request<'_>,
    trims: bool,
    searches: bool,
) -> Result<Option<Bytes>, ModelError> {
    let dialect = protocol.dialect();
    let limits = Cell::new(Limits::default());
    Declarations {
        open: b"{\"tools\":[",
        key: protocol.key,
        protocol: NAME,
        is_told: !trims,
        declare: &|out, tool| {
            if dialect.strict {
                limits.set(limits.get().with(tool)?);
            }
            declare(out, tool, dialect)
        },
        close: &|out| {
            if searches {
                json::separate(out);
                out.extend_from_slice(SEARCH.as_bytes());
            }
        },
    }
    .block(request)
}

fn declare(out: &mut Vec<u8>, tool: &dyn Tool, dialect: &Dialect) -> Result<(), ModelError> {
    let definition = tool.definition();
    out.extend_from_slice(b"{\"name\":");
    json::value(out, tool.name());
    if !definition.description().is_empty() {
        json::member(out, "description", definition.description());
    }
    out.extend_from_slice(b",\"input_schema\":");
    if dialect.strict && definition.strict() == Some(true) {
        let lowered = schema::strict(definition.schema().as_value())
            .map_err(|fault| not_strict(tool, fault))?;
        json::value(out, &lowered);
        json::member(out, "strict", &true);
    } else {
        out.extend_from_slice(definition.schema().as_json());
    }
    if dialect.tool_search && definition.is_deferred() {
        json::member(out, "defer_loading", &true);
    }
    out.push(b'}');
    Ok(())
}

fn server(server: &RemoteMcp) -> Value {
    let mut declared = json!({ "type": "url", "name": server.label, "url": server.url });
    if let Some(token) = server.token() {
        declared["authorization_token"] = token.into();
    }
    declared
}

/// The tools of a remote server. The provider runs them without asking.
fn toolset(server: &RemoteMcp, dialect: &Dialect) -> Result<Value, ModelError> {
    let refused = |text: String| Err(ModelError::new(ModelErrorKind::Configuration, text));
    if server.approval != RemoteApproval::Never {
        return refused(format!(
            "this provider runs the tools of `{}` without asking: allow that with `without_approval()`, \
             or connect to the server from here",
            server.label
        ));
    }
    if !server.headers().is_empty() {
        return refused(format!(
            "this provider sends no headers to `{}`; it takes a token: `authorization(…)`",
            server.label
        ));
    }
    let mut toolset = json!({ "type": "mcp_toolset", "mcp_server_name": server.label });
    let mut default = Map::new();
    if let Some(names) = &server.allowed_tools {
        default.insert("enabled".into(), false.into());
        let configs: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({ "enabled": true })))
            .collect();
        toolset["configs"] = configs.into();
    }
    if server.deferred && dialect.tool_search {
        default.insert("defer_loading".into(), true.into());
    }
    if !default.is_empty() {
        toolset["default_config"] = default.into();
    }
    Ok(toolset)
}
