//! A request in the making, for the tests of what is sent.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tool_core::model::Request;
use tool_core::{
    AssistantMessage, Attachment, Block, Calls, FunctionTool, Message, ModelError, ModelErrorKind,
    RawItems, RequestOptions, Tool, ToolCall, ToolChoice, ToolDefinition, ToolError, ToolSet,
    Transcript, UserMessage,
};
use tool_providers::Api;
use tool_providers::protocol::Protocol;

pub struct Asking {
    pub protocol: Box<dyn Protocol>,
    pub model: &'static str,
    pub instructions: Option<&'static str>,
    pub transcript: Transcript,
    pub tools: ToolSet,
    pub choice: ToolChoice,
    pub allowed: Option<Vec<String>>,
    pub calls: Calls,
    pub options: RequestOptions,
    pub stream: bool,
}

impl Asking {
    /// A user who says hi.
    pub fn new(api: Api) -> Self {
        Asking {
            protocol: api.protocol("here"),
            model: "m",
            instructions: None,
            transcript: [Message::User("hi".into())].into_iter().collect(),
            tools: ToolSet::new(),
            choice: ToolChoice::Auto,
            allowed: None,
            calls: Calls::Any,
            options: RequestOptions::new(),
            stream: false,
        }
    }

    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools = ToolSet::from_tools(tools);
        self
    }

    pub fn only(&mut self, names: &[&str]) {
        self.allowed = Some(names.iter().map(|name| (*name).into()).collect());
    }

    /// Adds an answer of this very provider.
    pub fn answered(&mut self, answer: Value) -> AssistantMessage {
        let text = answer.to_string();
        let answer = self.protocol.parse(text.as_bytes(), &mut |_| {}).unwrap();
        self.transcript.push(Message::Assistant(answer.clone()));
        answer
    }

    /// Adds an answer of another provider.
    pub fn answered_elsewhere(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.transcript.push(elsewhere(blocks));
    }

    pub fn result(&mut self, id: &str, outcome: &str, text: &str) {
        self.result_with(id, outcome, text, Vec::new());
    }

    pub fn result_with(
        &mut self,
        id: &str,
        outcome: &str,
        text: &str,
        attachments: Vec<Attachment>,
    ) {
        let result =
            json!({ "role": "tool", "call_id": id, "name": "f", "outcome": outcome, "text": text });
        let Message::Tool(mut result) = serde_json::from_value(result).unwrap() else {
            panic!("no result")
        };
        result.attachments = attachments;
        self.transcript.push(Message::Tool(result));
    }

    pub fn said(&mut self, text: &str) {
        self.transcript.push(Message::User(text.into()));
    }

    pub fn pieces(&self) -> Result<Vec<Bytes>, ModelError> {
        let request = Request::new(&self.transcript, &self.tools, &self.choice, &self.options)
            .with_instructions(self.instructions)
            .with_allowed(self.allowed.as_deref())
            .with_calls(self.calls)
            .with_stream(self.stream);
        self.protocol.render(self.model, &request)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.pieces().unwrap().concat()).unwrap()
    }

    pub fn body(&self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub fn error(&self) -> ModelError {
        self.pieces().unwrap_err()
    }
}

/// What the host makes of a user's attachment: the body of the request, or the error.
pub fn attached(api: Api, attachment: Attachment) -> Result<Value, ModelError> {
    let mut asking = Asking::new(api);
    let user = UserMessage::new("see").with_attachment(attachment);
    asking.transcript = [Message::User(user)].into_iter().collect();
    let body = asking.pieces()?.concat();
    Ok(serde_json::from_slice(&body).unwrap())
}

/// Nothing that was rendered once is rendered again: `tools` and `instructions` say in which pieces
/// those are.
pub fn assert_rendered_once(mut asking: Asking, kept: &[usize]) {
    asking.said(&"x".repeat(5000));
    let first = asking.pieces().unwrap();
    let place = first.len() - 2;
    let addresses: Vec<_> = kept.iter().map(|piece| first[*piece].as_ptr()).collect();
    let text = first[place].to_vec();
    let address = first[place].as_ptr();
    let again = asking.pieces().unwrap();
    assert_eq!(again[place].as_ptr(), address);
    assert_eq!(again, first);
    drop((first, again));
    asking.answered_elsewhere([call("a", "{}")]);
    asking.result("a", "ok", "one");
    let second = asking.pieces().unwrap();
    let addresses_now: Vec<_> = kept.iter().map(|piece| second[*piece].as_ptr()).collect();
    assert_eq!(addresses_now, addresses);
    assert!(second[place].starts_with(&text) && second[place].len() > text.len());
    // Rendered at once it is the same.
    let fresh = Asking {
        transcript: asking.transcript.clone(),
        protocol: asking.protocol,
        tools: ToolSet::from_tools(asking.tools.iter().cloned()),
        ..asking
    };
    assert_eq!(fresh.pieces().unwrap().concat(), second.concat());
}

pub fn elsewhere(blocks: impl IntoIterator<Item = Block>) -> Message {
    let raw = RawItems {
        origin: "elsewhere/there".into(),
        json: "[{\"secret\":1}]".into(),
    };
    Message::Assistant(AssistantMessage {
        blocks: blocks.into_iter().collect(),
        raw: Some(raw),
        ..AssistantMessage::default()
    })
}

pub fn call(id: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall::new(id, "f", arguments))
}

/// A tool with a required and an optional parameter.
pub fn tool(
    name: &'static str,
    define: impl FnOnce(ToolDefinition) -> ToolDefinition,
) -> Arc<dyn Tool> {
    let schema = json!({ "type": "object", "properties": {
        "city": { "type": "string", "minLength": 2 },
        "days": { "type": "integer" },
    }, "required": ["city"] });
    tool_of(name, schema, define)
}

pub fn tool_of(
    name: &'static str,
    schema: Value,
    define: impl FnOnce(ToolDefinition) -> ToolDefinition,
) -> Arc<dyn Tool> {
    let run = |_: Value| std::future::ready(Ok::<_, ToolError>(""));
    Arc::new(
        FunctionTool::new(name, "Tells.", schema, run)
            .unwrap()
            .define(define),
    )
}

/// A tool without parameters.
pub fn bare(name: &'static str) -> Arc<dyn Tool> {
    tool_of(name, json!({ "type": "object" }), |definition| definition)
}

pub fn as_it_is(definition: ToolDefinition) -> ToolDefinition {
    definition
}

pub fn strict(definition: ToolDefinition) -> ToolDefinition {
    definition.with_strict(true)
}

pub fn members(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The schema of [`tool`] where nothing of it is lost.
pub fn schema() -> Value {
    json!({ "type": "object", "properties": {
        "city": { "type": "string", "minLength": 2 },
        "days": { "type": "integer" },
    }, "required": ["city"], "additionalProperties": false })
}

/// The schema of [`bare`].
pub fn empty_schema() -> Value {
    json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
}

pub fn png() -> Attachment {
    Attachment::from_bytes("image/png", b"png")
}

pub fn pdf() -> Attachment {
    Attachment::from_bytes("application/pdf", b"%PDF").named("a.pdf")
}

pub fn notes() -> Attachment {
    Attachment::from_bytes("text/markdown", "# č".as_bytes()).named("a.md")
}

pub fn assert_unsupported(result: Result<Value, ModelError>) {
    let error = result.unwrap_err();
    assert_eq!(
        error.kind(),
        ModelErrorKind::UnsupportedAttachment,
        "{error}"
    );
}

/// Arguments as a model may leave them, and what an object has in their place.
pub fn broken_arguments() -> Vec<(&'static str, Value)> {
    vec![
        ("{\"a\":\"b", json!({ "invalid_json": "{\"a\":\"b" })),
        ("[1]", json!({ "invalid_json": "[1]" })),
        ("", json!({})),
        ("null", json!({})),
        ("{\"a\": 1}", json!({ "a": 1 })),
    ]
}
