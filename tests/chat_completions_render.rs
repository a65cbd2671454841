//! P2, P3, P7, CASES C: what is sent.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use support::cassette::dialect;
use tool_core::model::Request;
use tool_core::{
    AssistantMessage, Attachment, Block, Calls, FunctionTool, Message, ModelError, ModelErrorKind,
    RawItems, RequestOptions, Tool, ToolCall, ToolChoice, ToolError, ToolSet, Transcript,
    UserMessage,
};
use tool_providers::protocol::Protocol;
use tool_providers::protocol::chat_completions::{ChatCompletions, Dialect};

struct Asking {
    protocol: ChatCompletions,
    transcript: Transcript,
    tools: ToolSet,
    choice: ToolChoice,
    calls: Calls,
    options: RequestOptions,
    stream: bool,
}

impl Asking {
    fn new(provider: &str) -> Self {
        Asking {
            protocol: ChatCompletions::new(dialect(provider), provider),
            transcript: [Message::User("hi".into())].into_iter().collect(),
            tools: ToolSet::new(),
            choice: ToolChoice::Auto,
            calls: Calls::Any,
            options: RequestOptions::new(),
            stream: false,
        }
    }

    fn pieces(&self) -> Result<Vec<Bytes>, ModelError> {
        let request = Request::new(&self.transcript, &self.tools, &self.choice, &self.options)
            .with_instructions(Some("Be \"kind\"."))
            .with_calls(self.calls)
            .with_stream(self.stream);
        self.protocol.render("m", &request)
    }

    fn body(&self) -> Value {
        let text = self.pieces().unwrap().concat();
        serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)))
    }
}

fn tool(
    name: &str,
) -> FunctionTool<Value, impl Fn(Value) -> std::future::Ready<Result<&'static str, ToolError>>> {
    let schema = json!({ "type": "object", "properties": {
        "city": { "type": "string", "minLength": 2 },
        "days": { "type": "integer", "default": 3 },
        "unit": { "type": "string", "enum": ["c", "f"] },
    }, "required": ["city"] });
    FunctionTool::new(name, "Tells.", schema, |_| {
        std::future::ready(Ok::<_, ToolError>(""))
    })
    .unwrap()
}

fn set(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> ToolSet {
    ToolSet::from_tools(tools)
}

fn assistant(blocks: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage {
        blocks,
        ..AssistantMessage::default()
    })
}

fn call(id: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall::new(id, "f", arguments))
}

fn result(id: &str, text: &str, attachments: Value) -> Message {
    serde_json::from_value(json!({
        "role": "tool", "call_id": id, "name": "f", "outcome": "ok", "text": text, "attachments": attachments,
    })).unwrap()
}

#[test]
fn without_tools_nothing_is_said_of_tools() {
    let mut asking = Asking::new("openai");
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    let expected = json!({ "model": "m", "stream": false, "messages": [
        { "role": "system", "content": "Be \"kind\"." }, { "role": "user", "content": "hi" } ] });
    assert_eq!(asking.body(), expected);
}

#[test]
fn a_choice_and_the_number_of_calls_are_said_in_the_dialect() {
    let mut asking = Asking::new("openai");
    asking.tools = set([Arc::new(tool("f")) as _, Arc::new(tool("g")) as _]);
    assert_eq!(asking.body().get("tool_choice"), None);
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    assert_eq!(asking.body()["tool_choice"], "required");
    assert_eq!(asking.body()["parallel_tool_calls"], false);
    asking.choice = ToolChoice::Tool("g".into());
    asking.calls = Calls::Many;
    assert_eq!(
        asking.body()["tool_choice"],
        json!({ "type": "function", "function": { "name": "g" } })
    );
    assert_eq!(asking.body()["parallel_tool_calls"], true);
    asking.choice = ToolChoice::None;
    asking.calls = Calls::AtMost(3);
    assert_eq!(asking.body()["tool_choice"], "none");
    assert_eq!(asking.body().get("parallel_tool_calls"), None);

    asking.protocol = Asking::new("mistral").protocol;
    asking.choice = ToolChoice::Required;
    asking.stream = true;
    assert_eq!(asking.body()["tool_choice"], "any");
    assert_eq!(asking.body().get("stream_options"), None);

    // A host that ignores the choice is shown only what may be called.
    asking.protocol = Asking::new("ollama").protocol;
    asking.choice = ToolChoice::Tool("g".into());
    assert_eq!(asking.body().get("tool_choice"), None);
    assert_eq!(asking.body()["tools"].as_array().unwrap().len(), 1);
    assert_eq!(asking.body()["tools"][0]["function"]["name"], "g");
    asking.choice = ToolChoice::None;
    assert_eq!(asking.body().get("tools"), None);
}

#[test]
fn options_are_named_in_the_dialect_and_extra_members_win() {
    let mut asking = Asking::new("openai");
    asking.options = RequestOptions::new().temperature(0.5).max_tokens(9);
    assert_eq!(asking.body()["max_completion_tokens"], 9);
    assert_eq!(asking.body()["temperature"], 0.5);
    asking.options = asking
        .options
        .extra("temperature", 1)
        .extra("max_tokens", 5)
        .extra("seed", 7);
    let text = asking.pieces().unwrap().concat();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("\"temperature\"").count(), 1, "{text}");
    assert!(!text.contains("max_completion_tokens"), "{text}");
    asking.tools = set([Arc::new(tool("f")) as _]);
    asking.options = RequestOptions::new()
        .extra("tools", json!([]))
        .extra("messages", json!([]));
    let body = asking.body();
    assert_eq!(
        (&body["tools"], &body["messages"]),
        (&json!([]), &json!([]))
    );
    asking.options = RequestOptions::new().extra("model", "other");
    assert_eq!(asking.body()["model"], "other");
}

#[test]
fn b43_strict_is_said_only_where_it_was_asked_for() {
    let mut asking = Asking::new("openai");
    let strict = tool("g").define(|definition| definition.with_strict(true));
    asking.tools = set([Arc::new(tool("f")) as _, Arc::new(strict) as _]);
    let body = asking.body();
    let function = &body["tools"][0]["function"];
    assert_eq!(function.get("strict"), None);
    assert_eq!(function["parameters"]["required"], json!(["city"]));

    // B44, B50: only the tool that is marked, and all the way down.
    let function = &body["tools"][1]["function"];
    assert_eq!(function["strict"], true);
    let schema = &function["parameters"];
    assert_eq!(schema["required"], json!(["city", "days", "unit"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(
        schema["properties"]["city"],
        json!({ "type": "string", "description": "minLength: 2" })
    );
    assert_eq!(
        schema["properties"]["days"],
        json!({ "type": ["integer", "null"], "description": "default: 3" })
    );
    assert_eq!(
        schema["properties"]["unit"],
        json!({ "type": ["string", "null"], "enum": ["c", "f", null] })
    );

    // A host that does not know the word is not told.
    asking.protocol = Asking::new("deepseek").protocol;
    assert_eq!(asking.body()["tools"][1]["function"].get("strict"), None);
}

#[test]
fn b44_references_and_unions_are_lowered_too() {
    let schema = json!({ "type": "object", "properties": {
        "place": { "$ref": "#/$defs/Place", "description": "Where." },
        "kind": { "oneOf": [{ "type": "string", "const": "a" }, { "type": "string", "const": "b" }] },
        "list": { "type": "array", "items": { "$ref": "#/$defs/Place" }, "uniqueItems": true },
    }, "required": ["list"], "$defs": {
        "Place": { "type": "object", "properties": { "x": { "type": "number" } }, "required": [], "additionalProperties": false } } });
    let run = |_: Value| std::future::ready(Ok::<_, ToolError>(""));
    let tool = FunctionTool::new("f", "", schema, run).unwrap();
    let mut asking = Asking::new("openai");
    asking.tools = set([Arc::new(tool.define(|definition| definition.with_strict(true))) as _]);
    let schema = asking.body()["tools"][0]["function"]["parameters"].clone();
    assert!(!schema.to_string().contains("oneOf"));
    assert!(
        !schema["properties"]["list"]
            .to_string()
            .contains("\"uniqueItems\":"),
        "{schema}"
    );
    for (_, property) in schema["properties"].as_object().unwrap() {
        if let Some(reference) = property
            .as_object()
            .filter(|property| property.contains_key("$ref"))
        {
            assert_eq!(reference.len(), 1, "{schema}");
        }
    }
}

#[test]
fn p3_a_tool_that_cannot_be_strict_is_an_error_that_names_it_and_the_place() {
    let schema = json!({ "type": "object", "properties": {
        "labels": { "type": "object", "additionalProperties": { "type": "string" } } } });
    let run = |_: Value| std::future::ready(Ok::<_, ToolError>(""));
    let tool = FunctionTool::new("tag", "", schema, run).unwrap();
    let mut asking = Asking::new("openai");
    asking.tools = set([Arc::new(tool.define(|definition| definition.with_strict(true))) as _]);
    let error = asking.pieces().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(
        error
            .message()
            .starts_with("the tool `tag` cannot be strict: /labels "),
        "{error}"
    );
}

#[test]
fn provider_options_of_this_protocol_are_merged_into_the_declaration() {
    let object = |value: Value| -> Map<String, Value> { value.as_object().unwrap().clone() };
    let tool = tool("f").define(|definition| {
        let ours =
            object(json!({ "cache_control": { "type": "ephemeral" }, "function": { "x": 1 } }));
        let others = object(json!({ "input_examples": [] }));
        definition
            .with_provider_options(Some("chat_completions"), ours)
            .with_provider_options(Some("anthropic"), others)
    });
    let mut asking = Asking::new("openrouter");
    asking.tools = set([Arc::new(tool) as _]);
    let declared = &asking.body()["tools"][0];
    assert_eq!(declared["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(
        (&declared["function"]["x"], &declared["function"]["name"]),
        (&json!(1), &json!("f"))
    );
    assert_eq!(declared.get("input_examples"), None);
    // B49: no noise of schema generators.
    assert!(!declared.to_string().contains("$schema"));
}

#[test]
fn b104_arguments_that_are_no_object_go_back_as_one_that_carries_them() {
    for (sent, back) in [
        ("{\"a\":\"b", json!({ "invalid_json": "{\"a\":\"b" })),
        ("[1]", json!({ "invalid_json": "[1]" })),
        ("", json!({})),
        (" \n", json!({})),
        ("null", json!({})),
        ("{\"a\": 1}", json!({ "a": 1 })),
        ("\"{\\\"a\\\":1}\"", json!({ "a": 1 })),
        ("\"text\"", json!({ "invalid_json": "\"text\"" })),
    ] {
        let mut asking = Asking::new("openai");
        asking.transcript.push(assistant(vec![call("c", sent)]));
        asking.transcript.push(result("c", "no", json!([])));
        let body = asking.body();
        let arguments = body["messages"][2]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(arguments).unwrap(),
            back,
            "{sent:?}"
        );
    }
}

#[test]
fn b52_ids_are_mapped_for_a_host_that_wants_nine_alphanumerics() {
    let mut asking = Asking::new("mistral");
    asking.transcript.push(assistant(vec![
        call("call_search", "{}"),
        call("abcDEF123", "{}"),
    ]));
    asking
        .transcript
        .push(result("call_search", "one", json!([])));
    asking
        .transcript
        .push(result("abcDEF123", "two", json!([])));
    let body = asking.body();
    let mapped = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(
        mapped.len() == 9 && mapped.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{mapped}"
    );
    assert_eq!(body["messages"][3]["tool_call_id"], mapped);
    assert_eq!(body["messages"][2]["tool_calls"][1]["id"], "abcDEF123");
    assert_eq!(body["messages"][4]["tool_call_id"], "abcDEF123");
    assert_eq!(asking.body(), body);
}

#[test]
fn b98_a_result_is_never_empty() {
    let mut asking = Asking::new("openai");
    asking.transcript.push(assistant(vec![call("c", "{}")]));
    asking.transcript.push(result("c", "", json!([])));
    assert_eq!(asking.body()["messages"][3]["content"], "(no output)");
}

#[test]
fn attachments_of_a_run_of_results_come_in_one_message_after_all_of_them() {
    let image = json!({ "media_type": "image/png", "source": { "base64": "AAAA" } });
    let mut asking = Asking::new("openai");
    asking.transcript.push(assistant(vec![
        call("a", "{}"),
        call("b", "{}"),
        call("c", "{}"),
    ]));
    asking.transcript.push(result("a", "one", json!([image])));
    asking.transcript.push(result("b", "two", json!([])));
    asking.transcript.push(result("c", "three", json!([image])));
    asking.transcript.push(Message::User("and?".into()));
    let body = asking.body();
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "tool",
            "user",
            "user"
        ]
    );
    let parts = body["messages"][6]["content"].as_array().unwrap();
    assert_eq!(parts.len(), 4);
    assert_eq!(
        parts[1],
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } })
    );
}

#[test]
fn what_a_user_attaches_is_sent_as_parts_and_what_cannot_be_sent_is_an_error() {
    let with = |provider: &str, attachment: Attachment| {
        let mut asking = Asking::new(provider);
        asking.transcript = [Message::User(
            UserMessage::new("see").with_attachment(attachment),
        )]
        .into_iter()
        .collect();
        asking.pieces().map(|pieces| {
            let body: Value = serde_json::from_slice(&pieces.concat()).unwrap();
            body["messages"][1]["content"].clone()
        })
    };
    let pdf = || Attachment::from_bytes("application/pdf", b"%PDF").named("a.pdf");
    let content = with(
        "openai",
        Attachment::from_url("image/png", "https://x/y.png"),
    )
    .unwrap();
    assert_eq!(
        content,
        json!([{ "type": "text", "text": "see" }, { "type": "image_url", "image_url": { "url": "https://x/y.png" } }])
    );
    let content = with("openai", pdf()).unwrap();
    assert_eq!(
        content[1]["file"],
        json!({ "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg==" })
    );
    let content = with("openai", Attachment::from_bytes("audio/mpeg", b"x")).unwrap();
    assert_eq!(content[1]["input_audio"]["format"], "mp3");
    let notes =
        Attachment::from_bytes("text/markdown; charset=utf-8", "# č".as_bytes()).named("a.md");
    let content = with("deepseek", notes).unwrap();
    assert_eq!(content[1], json!({ "type": "text", "text": "a.md:\n# č" }));
    for (provider, attachment) in [
        ("deepseek", Attachment::from_bytes("image/png", b"x")),
        ("mistral", pdf()),
        ("openai", Attachment::from_bytes("video/mp4", b"x")),
        (
            "openai",
            Attachment::from_url("application/pdf", "https://x/y.pdf"),
        ),
    ] {
        let error = with(provider, attachment).unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::UnsupportedAttachment);
        assert!(error.message().contains("attachment"), "{error}");
    }
}

#[test]
fn p2_what_only_its_host_understands_goes_back_to_that_host_alone() {
    let answer = json!({ "choices": [{ "finish_reason": "tool_calls", "message": {
        "content": null, "reasoning_content": "hm \"so\"", "extra_content": { "google": { "thought_signature": "s1" } },
        "tool_calls": [{ "id": "a", "function": { "name": "f", "arguments": "{}" }, "extra_content": { "google": { "thought_signature": "s2" } } }],
    } }] });
    let mut asking = Asking::new("gemini");
    let answer = asking
        .protocol
        .parse(answer.to_string().as_bytes(), &mut |_| {})
        .unwrap();
    asking.transcript.push(Message::Assistant(answer.clone()));
    asking.transcript.push(result("a", "x", json!([])));
    let sent = asking.body()["messages"][2].clone();
    assert_eq!(sent["reasoning_content"], "hm \"so\"");
    assert_eq!(sent["extra_content"]["google"]["thought_signature"], "s1");
    assert_eq!(
        sent["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "s2"
    );

    for other in ["openai", "ollama"] {
        asking.protocol = Asking::new(other).protocol;
        let sent = asking.body()["messages"][2].to_string();
        assert!(
            !sent.contains("thought_signature") && !sent.contains("hm"),
            "{sent}"
        );
    }
    // One host wants reasoning in every message, if only empty; another's is not passed off as its own.
    asking.protocol = Asking::new("deepseek").protocol;
    assert_eq!(asking.body()["messages"][2]["reasoning_content"], "");
    let foreign = RawItems {
        origin: "chat_completions/elsewhere".into(),
        json: "{\"secret\":1}".into(),
    };
    asking.transcript = [Message::Assistant(AssistantMessage {
        raw: Some(foreign),
        ..answer
    })]
    .into_iter()
    .collect();
    assert!(!asking.body().to_string().contains("secret"));
}

/// P7: the bytes of earlier messages and of the tools are the very same in the next request.
#[test]
fn p7_nothing_is_rendered_twice() {
    let mut asking = Asking::new("openai");
    asking.tools = set([Arc::new(tool("f")) as _]);
    asking
        .transcript
        .push(Message::User("x".repeat(5000).as_str().into()));
    let first = asking.pieces().unwrap();
    let tools = first[0].as_ptr();
    let system = first[2].as_ptr();
    let length = first[3].len();
    let text = first[3].to_vec();
    drop(first);
    asking
        .transcript
        .push(Message::Assistant(AssistantMessage::from_text("ok")));
    let second = asking.pieces().unwrap();
    assert_eq!(second.len(), 5);
    assert_eq!((second[0].as_ptr(), second[2].as_ptr()), (tools, system));
    assert!(second[3].starts_with(&text) && second[3].len() > length);
    let again = asking.pieces().unwrap();
    assert_eq!(again[3].as_ptr(), second[3].as_ptr());

    // What is kept for one dialect is not sent in another.
    asking.protocol = ChatCompletions::new(Dialect::STANDARD, "elsewhere");
    assert_ne!(asking.pieces().unwrap()[0].as_ptr(), tools);
}

/// A chat that was cut, or that failed to render once, is rendered rightly afterwards.
#[test]
fn p7_what_is_kept_follows_the_transcript() {
    let mut asking = Asking::new("openai");
    asking.body();
    asking.transcript.push(Message::User("second".into()));
    asking.body();
    asking.transcript.truncate(1);
    asking.transcript.push(Message::User("third".into()));
    let contents = |body: Value| -> Vec<Value> {
        body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .skip(1)
            .map(|message| message["content"].clone())
            .collect()
    };
    assert_eq!(contents(asking.body()), [json!("hi"), json!("third")]);
    let video = Attachment::from_bytes("video/mp4", b"x");
    asking.transcript.push(Message::User(
        UserMessage::new("see").with_attachment(video),
    ));
    asking.pieces().unwrap_err();
    asking.pieces().unwrap_err();
    asking.transcript.truncate(2);
    assert_eq!(contents(asking.body()), [json!("hi"), json!("third")]);
}
