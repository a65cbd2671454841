//! A request to bytes.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tool_core::model::{RemoteApproval, RemoteMcp, Request};
use tool_core::{ModelError, ModelErrorKind, Tool, ToolChoice};

use super::super::body::Body;
use super::super::json;
use super::super::tools::Declarations;
use super::{Gemini, NAME, contents, parameters};

/// The body in pieces: the tools, everything small, the contents, the end. The model is in the path.
pub(super) fn request(protocol: &Gemini, request: &Request<'_>) -> Result<Vec<Bytes>, ModelError> {
    let tools = match request.options.extra.contains_key("tools") {
        true => None,
        false => block(protocol, request)?,
    };
    let servers = &request.options.remote_mcp;
    let remote = match servers.as_slice() {
        [] => Vec::new(),
        servers => {
            let servers = servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
            vec![json!({ "mcpServers": servers })]
        }
    };
    let declares = tools.is_some();
    let mut body = Body::new(request, NAME, tools, remote);
    if declares && let Some(choice) = choice(request) {
        body.member("toolConfig", &json!({ "functionCallingConfig": choice }));
    }
    let config = generation(request, body.extra("generationConfig"));
    if !config.is_empty() {
        json::value(body.key("generationConfig"), &config);
    }
    body.extras(&["generationConfig"]);
    if let Some(instructions) = request.instructions {
        let parts = json!({ "parts": [{ "text": instructions }] });
        body.member("systemInstruction", &parts);
    }
    body.finish("contents", || {
        let contents = request.transcript.render(protocol.key, |all, done, out| {
            contents::append(protocol, all, done, out)
        })?;
        Ok(vec![contents])
    })
}

/// Temperature and the like, among what the user says beside them.
fn generation(request: &Request<'_>, extra: Option<&Value>) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(temperature) = request.options.temperature {
        config.insert("temperature".into(), temperature.into());
    }
    if let Some(limit) = request.options.max_tokens {
        config.insert("maxOutputTokens".into(), limit.into());
    }
    if let Some(Value::Object(members)) = extra {
        config.extend(members.clone());
    }
    config
}

fn choice(request: &Request<'_>) -> Option<Value> {
    let strict = |tool: &&std::sync::Arc<dyn Tool>| tool.definition().strict() == Some(true);
    match (request.choice, request.allowed) {
        (ToolChoice::None, _) => Some(json!({ "mode": "NONE" })),
        (ToolChoice::Tool(name), _) => {
            Some(json!({ "mode": "ANY", "allowedFunctionNames": [name] }))
        }
        (ToolChoice::Required, Some(allowed)) => {
            Some(json!({ "mode": "ANY", "allowedFunctionNames": allowed }))
        }
        (ToolChoice::Required, None) => Some(json!({ "mode": "ANY" })),
        // Here all tools are strict or none is.
        _ if request.tools.iter().any(|tool| strict(&tool)) => Some(json!({ "mode": "VALIDATED" })),
        _ => None,
    }
}

/// `{"tools":[{"functionDeclarations":[…]}`, the start of a body; `None` where no tool is declared.
fn block(protocol: &Gemini, request: &Request<'_>) -> Result<Option<Bytes>, ModelError> {
    Declarations {
        open: b"{\"tools\":[{\"functionDeclarations\":[",
        key: protocol.key,
        protocol: NAME,
        // Where the model decides, all declared tools are allowed.
        is_told: request.allowed.is_none() || *request.choice != ToolChoice::Auto,
        declare: &declare,
        close: &|out| out.extend_from_slice(b"]}"),
    }
    .block(request)
}

fn declare(out: &mut Vec<u8>, tool: &dyn Tool) -> Result<(), ModelError> {
    let definition = tool.definition();
    out.extend_from_slice(b"{\"name\":");
    json::value(out, tool.name());
    json::member(out, "description", definition.description());
    let schema = parameters(definition.schema().as_value());
    json::member(out, "parametersJsonSchema", &schema);
    out.push(b'}');
    Ok(())
}

/// A remote server. The provider runs its tools without asking.
fn server(server: &RemoteMcp) -> Result<Value, ModelError> {
    let refused = |text: &str| {
        let text = format!("of `{}`: {text}", server.label);
        Err(ModelError::new(ModelErrorKind::Configuration, text))
    };
    if server.approval != RemoteApproval::Never {
        return refused(
            "this provider runs the tools of a remote server without asking: allow that with \
             `without_approval()`, or connect to the server from here",
        );
    }
    if server.allowed_tools.is_some() {
        return refused("this provider cannot be told which tools of a remote server are allowed");
    }
    let mut transport = json!({ "url": server.url });
    let token = server
        .token()
        .map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
    let headers: Map<String, Value> = server
        .headers()
        .iter()
        .cloned()
        .chain(token)
        .map(|(name, value)| (name, value.into()))
        .collect();
    if !headers.is_empty() {
        transport["headers"] = headers.into();
    }
    Ok(json!({ "name": server.label, "streamableHttpTransport": transport }))
}
