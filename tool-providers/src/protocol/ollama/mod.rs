//! Ollama's own chat protocol, which can be told more than its copy of Chat Completions: the length of
//! the context, and whether to think.

mod messages;
mod reader;
mod schema;

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde_json::{Map, Value};
use tool_core::model::{DeltaSink, Request};
use tool_core::{AssistantMessage, ModelError, ModelErrorKind, Tool};

use super::body::Body;
use super::tools::Declarations;
use super::{AnswerStream, Framing, Protocol, json};

pub use schema::parameters;

/// The name of the protocol, by which a tool's `provider_options` find it.
pub const NAME: &str = "ollama";

/// The protocol.
#[derive(Debug)]
pub struct OllamaChat {
    /// Tells what was rendered from all else.
    key: u64,
}

impl OllamaChat {
    /// The protocol.
    pub fn new() -> Self {
        let mut hasher = DefaultHasher::new();
        NAME.hash(&mut hasher);
        OllamaChat {
            key: hasher.finish(),
        }
    }

    fn tools(&self, request: &Request<'_>) -> Result<Option<Bytes>, ModelError> {
        Declarations {
            open: b"{\"tools\":[",
            key: self.key,
            protocol: NAME,
            // It knows no choice: what may be called is what is declared.
            is_told: request.allowed.is_none() && !request.choice.is_forced() && {
                *request.choice != tool_core::ToolChoice::None
            },
            declare: &declare,
            close: &|_| {},
        }
        .block(request)
    }
}

impl Default for OllamaChat {
    fn default() -> Self {
        OllamaChat::new()
    }
}

impl Protocol for OllamaChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _: &str, _: bool) -> String {
        "/chat".into()
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn render(&self, model: &str, request: &Request<'_>) -> Result<Vec<Bytes>, ModelError> {
        if let Some(server) = request.options.remote_mcp.first() {
            let text = format!(
                "this provider calls no MCP servers itself: connect to `{}` from here and use its tools",
                server.label
            );
            return Err(ModelError::new(ModelErrorKind::Configuration, text));
        }
        let tools = match request.options.extra.contains_key("tools") {
            true => None,
            false => self.tools(request)?,
        };
        let mut body = Body::new(request, NAME, tools, Vec::new());
        body.member("model", model);
        body.member("stream", &request.stream);
        let options = options(request, body.extra("options"));
        if !options.is_empty() {
            json::value(body.key("options"), &options);
        }
        body.extras(&["options"]);
        body.finish("messages", || {
            let messages = request.transcript.render(self.key, messages::append)?;
            let system = request.instructions.map(|instructions| {
                let mut out = Vec::from(b"{\"role\":\"system\"");
                json::member(&mut out, "content", instructions);
                out.extend_from_slice(if messages.is_empty() { b"}" } else { b"}," });
                Bytes::from(out)
            });
            Ok(system.into_iter().chain([messages]).collect())
        })
    }

    fn parse(&self, body: &[u8], sink: &mut DeltaSink<'_>) -> Result<AssistantMessage, ModelError> {
        reader::whole(body, sink)
    }

    fn stream(&self) -> Box<dyn AnswerStream + '_> {
        Box::new(reader::Reader::default())
    }
}

/// Temperature and the like, among what the user says beside them.
fn options(request: &Request<'_>, extra: Option<&Value>) -> Map<String, Value> {
    let mut options = Map::new();
    if let Some(temperature) = request.options.temperature {
        options.insert("temperature".into(), temperature.into());
    }
    if let Some(limit) = request.options.max_tokens {
        options.insert("num_predict".into(), limit.into());
    }
    if let Some(Value::Object(members)) = extra {
        options.extend(members.clone());
    }
    options
}

fn declare(out: &mut Vec<u8>, tool: &dyn Tool) -> Result<(), ModelError> {
    let definition = tool.definition();
    out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
    json::value(out, tool.name());
    json::member(out, "description", definition.description());
    json::member(
        out,
        "parameters",
        &parameters(definition.schema().as_value()),
    );
    out.extend_from_slice(b"}}");
    Ok(())
}
