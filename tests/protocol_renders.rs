//! P2, P3: what Responses, Messages, Gemini and Ollama are sent.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use tool_core::model::{RemoteMcp, Request};
use tool_core::{
    AssistantMessage, Attachment, Block, Calls, FunctionTool, Message, ModelError, ModelErrorKind,
    RequestOptions, Tool, ToolCall, ToolChoice, ToolDefinition, ToolError, ToolSet, Transcript,
    UserMessage,
};
use tool_providers::Api;
use tool_providers::protocol::responses::Dialect;

/// A question in the making.
struct Asking {
    api: Api,
    instructions: Option<&'static str>,
    messages: Vec<Message>,
    tools: ToolSet,
    choice: ToolChoice,
    allowed: Option<Vec<String>>,
    calls: Calls,
    options: RequestOptions,
}

impl Asking {
    fn of(api: Api) -> Self {
        Asking {
            api,
            instructions: None,
            messages: vec![Message::User("hi".into())],
            tools: ToolSet::new(),
            choice: ToolChoice::Auto,
            allowed: None,
            calls: Calls::Any,
            options: RequestOptions::new(),
        }
    }

    fn body(&self) -> Value {
        self.render().unwrap()
    }

    fn render(&self) -> Result<Value, ModelError> {
        let transcript: Transcript = self.messages.iter().cloned().collect();
        let request = Request::new(&transcript, &self.tools, &self.choice, &self.options)
            .with_instructions(self.instructions)
            .with_allowed(self.allowed.as_deref())
            .with_calls(self.calls);
        let pieces = self.api.protocol("host").render("m", &request)?;
        Ok(serde_json::from_slice(&pieces.concat()).unwrap())
    }
}

fn openai() -> Api {
    Api::Responses(Dialect::OPENAI)
}

fn all() -> [Api; 4] {
    [openai(), Api::anthropic(), Api::Gemini, Api::Ollama]
}

fn tool(name: &str, schema: Value, change: fn(ToolDefinition) -> ToolDefinition) -> Arc<dyn Tool> {
    let run = async |_: Value| Ok::<_, ToolError>("");
    Arc::new(
        FunctionTool::new(name, "A tool.", schema, run)
            .unwrap()
            .define(change),
    )
}

fn cities() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 2 },
            "days": { "type": "integer", "minimum": 1 },
        },
        "required": ["city"],
    })
}

fn plain(name: &str) -> Arc<dyn Tool> {
    tool(name, cities(), |definition| definition)
}

fn empty() -> Value {
    json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
}

fn normal() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string", "minLength": 2 }, "days": { "type": "integer", "minimum": 1 } },
        "required": ["city"],
        "additionalProperties": false,
    })
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall::new(id, name, arguments))
}

fn answer(blocks: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage {
        blocks,
        ..AssistantMessage::default()
    })
}

fn result(id: &str, name: &str, outcome: &str, text: &str) -> Message {
    let result =
        json!({ "role": "tool", "call_id": id, "name": name, "outcome": outcome, "text": text });
    serde_json::from_value(result).unwrap()
}

fn pictured(id: &str, name: &str) -> Message {
    let Message::Tool(mut result) = result(id, name, "ok", "seen") else {
        unreachable!()
    };
    result
        .attachments
        .push(Attachment::from_bytes("image/png", b"png"));
    Message::Tool(result)
}

#[test]
fn tools_are_declared_in_each_form_and_strict_is_by_tool_b43_b44_b50() {
    let strict = |definition: ToolDefinition| definition.with_strict(true);
    let tools = || {
        ToolSet::from_tools([
            plain("loose"),
            tool("held", cities(), strict),
            tool("bare", json!({ "type": "object" }), |definition| definition),
        ])
    };
    let mut asking = Asking::of(openai());
    asking.tools = tools();
    let nullable = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "minLength: 2" },
            "days": { "type": ["integer", "null"], "minimum": 1 },
        },
        "required": ["city", "days"],
        "additionalProperties": false,
    });
    assert_eq!(
        asking.body()["tools"],
        json!([
            { "type": "function", "name": "loose", "description": "A tool.", "parameters": normal(), "strict": false },
            { "type": "function", "name": "held", "description": "A tool.", "parameters": nullable, "strict": true },
            { "type": "function", "name": "bare", "description": "A tool.", "parameters": empty(), "strict": false },
        ])
    );

    let mut asking = Asking::of(Api::anthropic());
    asking.tools = tools();
    let held = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "minLength: 2" },
            "days": { "type": "integer", "description": "minimum: 1" },
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    assert_eq!(
        asking.body()["tools"],
        json!([
            { "name": "loose", "description": "A tool.", "input_schema": normal() },
            { "name": "held", "description": "A tool.", "input_schema": held, "strict": true },
            { "name": "bare", "description": "A tool.", "input_schema": empty() },
        ])
    );

    let mut asking = Asking::of(Api::Gemini);
    asking.tools = tools();
    let body = asking.body();
    let declared = body["tools"][0]["functionDeclarations"].as_array().unwrap();
    assert_eq!(declared.len(), 3);
    let parameters = &declared[0]["parametersJsonSchema"];
    assert_eq!(parameters["required"], json!(["city"]));
    assert_eq!(parameters.get("additionalProperties"), None);
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"]["mode"],
        "VALIDATED"
    );

    let mut asking = Asking::of(Api::Ollama);
    asking.tools = tools();
    let parameters = asking.body()["tools"][0]["function"]["parameters"].clone();
    assert_eq!(
        parameters["properties"]["city"],
        json!({ "type": "string", "description": "minLength: 2" })
    );
}

#[test]
fn options_of_a_tool_reach_the_protocol_they_are_for_alone() {
    let cached = |definition: ToolDefinition| {
        let members = json!({ "cache_control": { "type": "ephemeral" } });
        definition.with_provider_options(Some("anthropic"), members.as_object().unwrap().clone())
    };
    for api in all() {
        let mut asking = Asking::of(api.clone());
        asking.tools = ToolSet::from_tools([tool("t", cities(), cached)]);
        let has = asking.body().to_string().contains("cache_control");
        assert_eq!(has, matches!(api, Api::Anthropic(_)), "{api:?}");
    }
}

#[test]
fn choices_and_numbers_of_calls_are_said_as_each_provider_says_them() {
    let told = |api: Api, choice: ToolChoice, calls: Calls| {
        let mut asking = Asking::of(api);
        asking.tools = ToolSet::from_tools([plain("a"), plain("b")]);
        (asking.choice, asking.calls) = (choice, calls);
        asking.body()
    };
    let (auto, required, none) = (ToolChoice::Auto, ToolChoice::Required, ToolChoice::None);
    let one = || ToolChoice::from("a");

    for (choice, said) in [
        (auto.clone(), Value::Null),
        (required.clone(), json!("required")),
        (none.clone(), json!("none")),
        (one(), json!({ "type": "function", "name": "a" })),
    ] {
        assert_eq!(told(openai(), choice, Calls::Any)["tool_choice"], said);
    }
    assert_eq!(
        told(openai(), auto.clone(), Calls::One)["parallel_tool_calls"],
        false
    );
    assert_eq!(
        told(openai(), auto.clone(), Calls::Many)["parallel_tool_calls"],
        true
    );

    for (choice, calls, said) in [
        (auto.clone(), Calls::Any, Value::Null),
        (
            auto.clone(),
            Calls::One,
            json!({ "type": "auto", "disable_parallel_tool_use": true }),
        ),
        (required.clone(), Calls::Any, json!({ "type": "any" })),
        (
            required.clone(),
            Calls::One,
            json!({ "type": "any", "disable_parallel_tool_use": true }),
        ),
        (one(), Calls::Any, json!({ "type": "tool", "name": "a" })),
        (none.clone(), Calls::One, json!({ "type": "none" })),
    ] {
        assert_eq!(told(Api::anthropic(), choice, calls)["tool_choice"], said);
    }

    for (choice, said) in [
        (auto, Value::Null),
        (required.clone(), json!({ "mode": "ANY" })),
        (none.clone(), json!({ "mode": "NONE" })),
        (
            one(),
            json!({ "mode": "ANY", "allowedFunctionNames": ["a"] }),
        ),
    ] {
        let body = told(Api::Gemini, choice, Calls::Any);
        assert_eq!(body["toolConfig"]["functionCallingConfig"], said);
    }

    // Ollama knows no choice: what may be called is what is declared.
    let names = |choice| {
        let body = told(Api::Ollama, choice, Calls::Any);
        body["tools"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((names(none), names(one()), names(required)), (0, 1, 2));
}

#[test]
fn a_subset_is_told_where_it_can_be_and_declared_alone_elsewhere_c2() {
    let told = |api: Api, choice: ToolChoice| {
        let mut asking = Asking::of(api);
        asking.tools = ToolSet::from_tools([plain("a"), plain("b"), plain("c")]);
        (asking.choice, asking.allowed) = (choice, Some(vec!["a".into(), "c".into()]));
        asking.body()
    };
    let body = told(openai(), ToolChoice::Auto);
    assert_eq!(body["tools"].as_array().unwrap().len(), 3);
    let tools = json!([{ "type": "function", "name": "a" }, { "type": "function", "name": "c" }]);
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "allowed_tools", "mode": "auto", "tools": tools })
    );
    assert_eq!(
        told(openai(), ToolChoice::Required)["tool_choice"]["mode"],
        "required"
    );

    let declared = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().unwrap().iter();
        let name = |tool: &Value| {
            tool["name"]
                .as_str()
                .or(tool["function"]["name"].as_str())
                .unwrap()
                .to_owned()
        };
        tools.map(name).collect()
    };
    for api in [Api::responses(), Api::anthropic(), Api::Ollama] {
        assert_eq!(declared(&told(api, ToolChoice::Auto)), ["a", "c"]);
    }
    let body = told(Api::Gemini, ToolChoice::Required);
    assert_eq!(
        body["tools"][0]["functionDeclarations"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let config = &body["toolConfig"]["functionCallingConfig"];
    assert_eq!(
        *config,
        json!({ "mode": "ANY", "allowedFunctionNames": ["a", "c"] })
    );
    let body = told(Api::Gemini, ToolChoice::Auto);
    assert_eq!(
        body["tools"][0]["functionDeclarations"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn instructions_limits_and_members_of_the_user_are_where_they_belong() {
    let asking = |api: Api| {
        let mut asking = Asking::of(api);
        asking.instructions = Some("Be brief.");
        asking.options = RequestOptions::new().temperature(0.5).max_tokens(99);
        asking
    };
    let body = asking(openai()).body();
    assert_eq!(
        body,
        json!({
            "model": "m", "stream": false, "store": false, "include": ["reasoning.encrypted_content"],
            "temperature": 0.5, "max_output_tokens": 99, "instructions": "Be brief.",
            "input": [{ "role": "user", "content": "hi" }],
        })
    );
    let body = asking(Api::anthropic()).body();
    assert_eq!(
        body,
        json!({
            "model": "m", "max_tokens": 99, "stream": false, "temperature": 0.5, "system": "Be brief.",
            "messages": [{ "role": "user", "content": "hi" }],
        })
    );
    assert_eq!(Asking::of(Api::anthropic()).body()["max_tokens"], 8192);
    let mut gemini = asking(Api::Gemini);
    gemini.options = gemini
        .options
        .extra("generationConfig", json!({ "topK": 3, "temperature": 1 }));
    assert_eq!(
        gemini.body(),
        json!({
            "generationConfig": { "temperature": 1, "maxOutputTokens": 99, "topK": 3 },
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }],
        })
    );
    let mut ollama = asking(Api::Ollama);
    ollama.options = ollama
        .options
        .extra("options", json!({ "num_ctx": 9 }))
        .extra("think", true);
    assert_eq!(
        ollama.body(),
        json!({
            "model": "m", "stream": false, "think": true,
            "options": { "temperature": 0.5, "num_predict": 99, "num_ctx": 9 },
            "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }],
        })
    );
}

#[test]
fn a_model_that_thinks_by_a_budget_is_told_and_not_made_to_call() {
    let mut asking = Asking::of(Api::anthropic());
    asking.tools = ToolSet::from_tools([plain("a")]);
    asking.choice = "a".into();
    asking.instructions = Some("Be brief.");
    asking.options = RequestOptions::new().extra(
        "thinking",
        json!({ "type": "enabled", "budget_tokens": 1024 }),
    );
    let body = asking.body();
    assert_eq!(body["tool_choice"], json!({ "type": "auto" }));
    assert_eq!(body["system"], "Be brief.\n\nCall the tool `a` now.");
    assert_eq!(body["max_tokens"], 1024 + 8192);
    asking.options = RequestOptions::new().extra("thinking", json!({ "type": "adaptive" }));
    assert_eq!(asking.body()["tool_choice"]["type"], "tool");
}

/// Two calls, three results, and what the user says then.
fn round() -> Vec<Message> {
    vec![
        Message::User("go".into()),
        answer(vec![
            Block::Thinking("hidden".into()),
            Block::Text("I look.".into()),
            call("call.1/x", "look", "{\"at\": 1.50}"),
            call("c2", "look", ""),
            call("c3", "see", "{\"half\": "),
        ]),
        result("call.1/x", "look", "ok", "nothing"),
        result("c2", "look", "error", "no"),
        pictured("c3", "see"),
        Message::User("and now?".into()),
    ]
}

#[test]
fn results_are_grouped_flagged_and_carry_their_images() {
    let png = "cG5n";
    let body = |api: Api| {
        let mut asking = Asking::of(api);
        asking.messages = round();
        asking.body()
    };
    let carried = "{\"invalid_json\":\"{\\\"half\\\": \"}";
    assert_eq!(
        body(openai())["input"],
        json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": "I look." },
            { "type": "function_call", "call_id": "call.1/x", "name": "look", "arguments": "{\"at\": 1.50}" },
            { "type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}" },
            { "type": "function_call", "call_id": "c3", "name": "see", "arguments": carried },
            { "type": "function_call_output", "call_id": "call.1/x", "output": "nothing" },
            { "type": "function_call_output", "call_id": "c2", "output": "no" },
            { "type": "function_call_output", "call_id": "c3", "output": [
                { "type": "input_text", "text": "seen" },
                { "type": "input_image", "image_url": format!("data:image/png;base64,{png}") },
            ] },
            { "role": "user", "content": "and now?" },
        ])
    );

    let messages = body(Api::anthropic())["messages"].clone();
    let id = messages[1]["content"][1]["id"].as_str().unwrap().to_owned();
    assert!(
        id.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        "{id}"
    );
    assert_eq!(
        messages,
        json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": id, "name": "look", "input": { "at": 1.5 } },
                { "type": "tool_use", "id": "c2", "name": "look", "input": {} },
                { "type": "tool_use", "id": "c3", "name": "see", "input": { "invalid_json": "{\"half\": " } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": "nothing" },
                { "type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": true },
                { "type": "tool_result", "tool_use_id": "c3", "content": [
                    { "type": "text", "text": "seen" },
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": png } },
                ] },
            ] },
            { "role": "user", "content": "and now?" },
        ])
    );

    assert_eq!(
        body(Api::Gemini)["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [
                { "text": "I look." },
                { "functionCall": { "name": "look", "args": { "at": 1.5 } }, "thoughtSignature": "skip_thought_signature_validator" },
                { "functionCall": { "name": "look", "args": {} } },
                { "functionCall": { "name": "see", "args": { "invalid_json": "{\"half\": " } } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "look", "response": { "output": "nothing" } } },
                { "functionResponse": { "name": "look", "response": { "error": "no" } } },
                { "functionResponse": { "name": "see", "response": { "output": "seen" } } },
                { "text": "From the result of `see`:" },
                { "inlineData": { "mimeType": "image/png", "data": png } },
            ] },
            { "role": "user", "parts": [{ "text": "and now?" }] },
        ])
    );

    let messages = body(Api::Ollama)["messages"].clone();
    assert_eq!(
        messages[1]["tool_calls"][0]["function"]["arguments"],
        json!({ "at": 1.5 })
    );
    assert_eq!(messages[1]["thinking"], "hidden");
    assert_eq!(
        messages[2],
        json!({ "role": "tool", "tool_name": "look", "tool_call_id": "call.1/x", "content": "nothing" })
    );
    assert_eq!(
        messages[5],
        json!({ "role": "user", "content": "From the result of `see`:", "images": [png] })
    );
}

#[test]
fn nothing_is_sent_that_a_provider_refuses_for_being_empty() {
    for api in [Api::anthropic(), Api::Gemini] {
        let mut asking = Asking::of(api.clone());
        asking.messages = vec![
            Message::User("".into()),
            answer(vec![Block::Thinking("only".into())]),
            answer(vec![call("c1", "look", "{}")]),
            result("c1", "look", "ok", ""),
        ];
        let body = asking.body().to_string();
        assert!(!body.contains("\"\""), "{api:?}: {body}");
        assert!(!body.contains("[]"), "{api:?}: {body}");
        assert!(body.contains("(no output)"), "{api:?}: {body}");
    }
}

#[test]
fn attachments_are_sent_in_each_form_or_refused_before_any_request() {
    let user = |attachment: Attachment| {
        let message = UserMessage::new("look").with_attachment(attachment);
        vec![Message::User(message)]
    };
    let part = |api: Api, attachment: Attachment| {
        let mut asking = Asking::of(api);
        asking.messages = user(attachment);
        asking.body()
    };
    let pdf = || Attachment::from_bytes("application/pdf", b"pdf").named("a.pdf");
    let text = || Attachment::from_bytes("text/csv", b"1,2").named("a.csv");
    let body = part(openai(), pdf());
    let file = json!({ "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm" });
    assert_eq!(body["input"][0]["content"][1], file);
    let body = part(openai(), text());
    assert_eq!(
        body["input"][0]["content"][1],
        json!({ "type": "input_text", "text": "a.csv:\n1,2" })
    );
    let body = part(Api::anthropic(), pdf());
    assert_eq!(body["messages"][0]["content"][0]["type"], "document");
    assert_eq!(body["messages"][0]["content"][0]["title"], "a.pdf");
    let image = Attachment::from_url("image/png", "https://example.com/a.png");
    let body = part(Api::anthropic(), image.clone());
    assert_eq!(
        body["messages"][0]["content"][0]["source"],
        json!({ "type": "url", "url": "https://example.com/a.png" })
    );
    let body = part(Api::Gemini, Attachment::from_bytes("audio/wav", b"wav"));
    assert_eq!(
        body["contents"][0]["parts"][1]["inlineData"]["mimeType"],
        "audio/wav"
    );

    let movie = Attachment::from_bytes("video/mp4", b"mp4");
    for (api, attachment) in [
        (openai(), movie.clone()),
        (Api::anthropic(), movie.clone()),
        (Api::Ollama, movie),
        (Api::Ollama, image),
    ] {
        let mut asking = Asking::of(api.clone());
        asking.messages = user(attachment);
        let error = asking.render().unwrap_err();
        assert_eq!(
            error.kind(),
            ModelErrorKind::UnsupportedAttachment,
            "{api:?}"
        );
    }
}

#[test]
fn a_schema_that_cannot_be_strict_is_an_error_that_names_the_tool_and_the_path_p3() {
    let strict = |definition: ToolDefinition| definition.with_strict(true);
    let open = json!({ "type": "object", "properties": { "any": { "type": "object", "additionalProperties": true } } });
    for api in [openai(), Api::anthropic()] {
        let mut asking = Asking::of(api.clone());
        asking.tools = ToolSet::from_tools([plain("fine"), tool("open", open.clone(), strict)]);
        let error = asking.render().unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        assert!(
            error.message().contains("`open`") && error.message().contains("/any"),
            "{api:?}: {error}"
        );
    }
    let tree = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/Tree" } },
        "$defs": { "Tree": { "type": "object", "properties": { "of": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } } } },
    });
    let mut asking = Asking::of(Api::anthropic());
    asking.tools = ToolSet::from_tools([tool("tree", tree.clone(), strict)]);
    let error = asking.render().unwrap_err();
    assert!(
        error.message().contains("`tree`") && error.message().contains("itself"),
        "{error}"
    );
    asking.api = openai();
    asking.body();
}

#[test]
fn more_strict_tools_than_anthropic_takes_are_an_error_p3() {
    let strict = |definition: ToolDefinition| definition.with_strict(true);
    let render = |count: usize, schema: &Value| {
        let mut asking = Asking::of(Api::anthropic());
        let tools = (0..count).map(|number| tool(&format!("t{number}"), schema.clone(), strict));
        asking.tools = ToolSet::from_tools(tools);
        asking.render().map(drop).map_err(|error| error.to_string())
    };
    let bare = json!({ "type": "object" });
    render(20, &bare).unwrap();
    assert!(
        render(21, &bare)
            .unwrap_err()
            .contains("21 tools are strict")
    );
    let properties = |count: usize, property: Value| -> Value {
        let all = (0..count).map(|number| (format!("p{number}"), property.clone()));
        json!({ "type": "object", "properties": all.collect::<serde_json::Map<_, _>>() })
    };
    render(2, &properties(12, json!({ "type": "string" }))).unwrap();
    assert!(
        render(1, &properties(25, json!({ "type": "string" })))
            .unwrap_err()
            .contains("25 optional")
    );
    assert!(
        render(1, &properties(17, json!({ "type": ["string", "integer"] })))
            .unwrap_err()
            .contains("17 parameters of several types")
    );
}

#[test]
fn an_answer_is_replayed_to_its_host_alone() {
    let content = json!([{ "type": "thinking", "thinking": "t", "signature": "s" }, { "type": "tool_use", "id": "a", "name": "look", "input": {}, "caller": { "type": "direct" } }]);
    let whole = json!({ "model": "m", "content": content, "stop_reason": "tool_use" });
    let read = |host: &str| {
        let protocol = Api::anthropic().protocol(host);
        Message::Assistant(
            protocol
                .parse(whole.to_string().as_bytes(), &mut |_| {})
                .unwrap(),
        )
    };
    let mut asking = Asking::of(Api::anthropic());
    asking.messages = vec![Message::User("go".into()), read("host")];
    assert_eq!(asking.body()["messages"][1]["content"], content);
    asking.messages = vec![Message::User("go".into()), read("elsewhere")];
    let synthesized = json!([{ "type": "tool_use", "id": "a", "name": "look", "input": {} }]);
    assert_eq!(asking.body()["messages"][1]["content"], synthesized);
}

#[test]
fn gemini_gets_back_the_ids_that_it_gave() {
    let parts = json!([
        { "functionCall": { "name": "look", "args": {}, "id": "g1" }, "thoughtSignature": "sig" },
        { "functionCall": { "name": "look", "args": {} } },
    ]);
    let whole =
        json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
    let protocol = Api::Gemini.protocol("host");
    let answer = protocol
        .parse(whole.to_string().as_bytes(), &mut |_| {})
        .unwrap();
    let results: Vec<Message> = answer
        .tool_calls()
        .map(|call| result(&call.id, "look", "ok", "x"))
        .collect();
    let mut asking = Asking::of(Api::Gemini);
    asking.messages = vec![Message::User("go".into()), Message::Assistant(answer)];
    asking.messages.extend(results);
    let body = asking.body();
    assert_eq!(body["contents"][1]["parts"], parts);
    let responses: Vec<&Value> = body["contents"][2]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["functionResponse"]["id"])
        .collect();
    assert_eq!(responses, [&json!("g1"), &Value::Null]);
}

#[test]
fn remote_servers_that_need_no_decision_are_declared_in_each_form() {
    let server = || {
        RemoteMcp::new("links", "https://l.example.com")
            .authorization("t")
            .without_approval()
    };
    let mut asking = Asking::of(Api::anthropic());
    asking.options = RequestOptions::new().remote_mcp(server().allowed_tools(["shorten"]));
    let body = asking.body();
    assert_eq!(
        body["mcp_servers"],
        json!([{ "type": "url", "name": "links", "url": "https://l.example.com", "authorization_token": "t" }])
    );
    assert_eq!(
        body["tools"],
        json!([{ "type": "mcp_toolset", "mcp_server_name": "links", "configs": { "shorten": { "enabled": true } }, "default_config": { "enabled": false } }])
    );
    asking.api = Api::Gemini;
    asking.options = RequestOptions::new().remote_mcp(server());
    assert_eq!(
        asking.body()["tools"],
        json!([{ "mcpServers": [{ "name": "links", "streamableHttpTransport": { "url": "https://l.example.com", "headers": { "Authorization": "Bearer t" } } }] }])
    );
    asking.api = openai();
    asking.options = RequestOptions::new()
        .remote_mcp(RemoteMcp::new("links", "https://l.example.com").without_approval_of(["read"]))
        .hosted_tool("responses", json!({ "type": "web_search" }))
        .hosted_tool("anthropic", json!({ "type": "web_search_20250305" }));
    asking.tools = ToolSet::from_tools([plain("a")]);
    let tools = asking.body()["tools"].clone();
    assert_eq!(tools[0]["name"], "a");
    assert_eq!(
        tools[1]["require_approval"],
        json!({ "never": { "tool_names": ["read"] } })
    );
    assert_eq!(tools[2], json!({ "type": "web_search" }));
    assert_eq!(tools.as_array().unwrap().len(), 3);
}

#[test]
fn what_was_rendered_is_rendered_once_p7() {
    for api in all() {
        let protocol = api.protocol("host");
        let (tools, choice, options) = (
            ToolSet::from_tools([plain("a")]),
            ToolChoice::Auto,
            RequestOptions::new(),
        );
        let mut transcript: Transcript = round().into_iter().collect();
        let render = |transcript: &Transcript| {
            let request = Request::new(transcript, &tools, &choice, &options);
            protocol.render("m", &request).unwrap()
        };
        let first = render(&transcript);
        let before = first.concat();
        transcript.push(answer(vec![Block::Text("done".into())]));
        let second = render(&transcript);
        assert_eq!(
            first[0].as_ptr(),
            second[0].as_ptr(),
            "{api:?}: the tools are shared"
        );
        let after = second.concat();
        let kept = before.len() - b"]}".len();
        assert_eq!(
            &after[..kept],
            &before[..kept],
            "{api:?}: what was sent is sent again"
        );
        let fresh: Transcript = transcript.messages().iter().cloned().collect();
        assert_eq!(render(&fresh).concat(), after, "{api:?}");
    }
}
