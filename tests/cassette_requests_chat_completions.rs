//! P2: our requests against recorded ones of Chat Completions.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use support::cassette::{dialect, recordings};
use tool_core::model::Request;
use tool_core::{
    Attachment, AttachmentSource, Calls, FunctionTool, Message, RequestOptions, Tool, ToolChoice,
    ToolError, ToolSet, Transcript, UserMessage, normalize,
};
use tool_providers::protocol::Protocol;
use tool_providers::protocol::chat_completions::{ChatCompletions, Dialect};

#[test]
fn every_recorded_request_is_the_one_we_send_but_for_justified_differences() {
    let mut met = BTreeSet::new();
    for (file, recording) in recordings("chat_completions") {
        let provider = recording["provider"].as_str().unwrap();
        let protocol = ChatCompletions::new(dialect(provider), provider);
        for (number, exchange) in recording["exchanges"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let recorded = &exchange["request"]["body"];
            let Some(mut ours) = rebuild(&protocol, recorded) else {
                println!("{file}, request {number}: holds what a chat of ours cannot");
                continue;
            };
            let mut theirs = recorded.clone();
            for (kind, _, level) in DIFFERENCES {
                let before = (ours.clone(), theirs.clone());
                level(protocol.dialect(), &mut ours);
                level(protocol.dialect(), &mut theirs);
                let told_apart = before.0 != before.1;
                if told_apart && (ours != before.0 || theirs != before.1) {
                    met.insert(*kind);
                }
            }
            assert_eq!(ours, theirs, "{file}, request {number}");
        }
    }
    println!("differences met: {met:#?}");
}

/// Levels one kind of difference in a body, ours or the recorded one.
type Level = fn(&Dialect, &mut Value);

/// What may differ between our request and the recorded one, of another client, and why.
const DIFFERENCES: &[(&str, &str, Level)] = &[
    (
        "a default that is said or not",
        "`stream: false` and `tool_choice: auto` are what a host does unasked; we say only the first",
        |_, body| {
            let members = body.as_object_mut().unwrap();
            if members.get("stream") == Some(&json!(false)) {
                members.remove("stream");
            }
            if members.get("tool_choice") == Some(&json!("auto")) {
                members.remove("tool_choice");
            }
        },
    ),
    (
        "the name of the token limit",
        "OpenAI's reasoning models refuse `max_tokens`; its other models know the new name too",
        |dialect, body| {
            rename(
                body,
                &["max_tokens", "max_completion_tokens"],
                dialect.max_tokens,
            )
        },
    ),
    (
        "usage of a stream asked for",
        "we ask every host that understands it; without it a stream tells no usage",
        |dialect, body| {
            if dialect.stream_options && body["stream"] == true {
                body["stream_options"] = json!({ "include_usage": true });
            }
        },
    ),
    (
        "text as an array of one part",
        "both forms mean the same; text alone is understood by more servers",
        |_, body| {
            for message in messages(body) {
                if let [part] = message["content"].as_array().map_or(&[][..], Vec::as_slice)
                    && part["type"] == "text"
                {
                    message["content"] = part["text"].clone();
                }
            }
        },
    ),
    (
        "the role of the instructions",
        "OpenAI reads `system` as `developer` where a model knows only that; others know no `developer`",
        |_, body| {
            for message in messages(body) {
                if message["role"] == "developer" {
                    message["role"] = json!("system");
                }
            }
        },
    ),
    (
        "no content beside calls",
        "null, absent and empty mean the same; the empty text is accepted by all hosts",
        |_, body| {
            for message in messages(body)
                .iter_mut()
                .filter(|message| message["role"] == "assistant")
            {
                if message["content"].is_null() {
                    message["content"] = json!("");
                }
            }
        },
    ),
    (
        "white space in arguments",
        "we send back what the model wrote, others what they made of it",
        |_, body| {
            for call in messages(body).iter_mut().flat_map(calls) {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                call["function"]["arguments"] = arguments.to_string().into();
            }
        },
    ),
    (
        "the index of a call sent back",
        "it belongs to a stream; no host asks for it in a request",
        |_, body| {
            for call in messages(body).iter_mut().flat_map(calls) {
                call.as_object_mut().unwrap().remove("index");
            }
        },
    ),
    (
        "reasoning under two names",
        "a host is sent the name under which it gave its reasoning",
        |_, body| {
            for message in messages(body) {
                if message.get("reasoning").is_some() {
                    message.as_object_mut().unwrap().remove("reasoning_content");
                }
            }
        },
    ),
    (
        "empty reasoning",
        "where a host refuses a message without it in thinking mode, it is always there",
        |dialect, body| {
            for message in messages(body)
                .iter_mut()
                .filter(|message| message["role"] == "assistant")
            {
                if dialect.reasoning_always && message.get("reasoning_content").is_none() {
                    message["reasoning_content"] = json!("");
                }
            }
        },
    ),
    (
        "`strict` inside of the schema",
        "it belongs beside the schema, where the recorded client did not mean it",
        |_, body| {
            for function in functions(body) {
                let schema = function["parameters"].as_object_mut().unwrap();
                if schema.get("strict").is_some_and(Value::is_boolean) {
                    schema.remove("strict");
                }
            }
        },
    ),
    (
        "the normal form of a schema",
        "ours always says which members are required and that there are no others",
        |_, body| {
            for function in functions(body) {
                function["parameters"] = normalize(function["parameters"].clone()).unwrap();
            }
        },
    ),
];

fn rename(body: &mut Value, names: &[&str], name: &str) {
    let members = body.as_object_mut().unwrap();
    if let Some(value) = names.iter().find_map(|name| members.remove(*name)) {
        members.insert(name.into(), value);
    }
}

fn messages(body: &mut Value) -> &mut Vec<Value> {
    body["messages"].as_array_mut().unwrap()
}

fn calls(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    calls.into_iter().flatten()
}

fn functions(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let tools = body.get_mut("tools").and_then(Value::as_array_mut);
    tools
        .into_iter()
        .flatten()
        .map(|tool| &mut tool["function"])
}

/// The recorded request as a question of the core, rendered by us.
/// `None`: it holds a message that a chat of ours cannot.
fn rebuild(protocol: &ChatCompletions, recorded: &Value) -> Option<Value> {
    let mut instructions = None;
    let mut transcript = Transcript::new();
    for message in recorded["messages"].as_array().unwrap() {
        match message["role"].as_str().unwrap() {
            "system" | "developer" if transcript.messages().is_empty() => {
                instructions = Some(text(&message["content"])?);
            }
            "user" => {
                let mut user = UserMessage::new(text(&message["content"])?);
                for part in message["content"].as_array().into_iter().flatten() {
                    if let Some(url) = part["image_url"]["url"].as_str() {
                        user = user.with_attachment(image(url));
                    }
                }
                transcript.push(Message::User(user));
            }
            // As if the model had just answered it, so that what is to be echoed is kept.
            "assistant" => {
                let answer =
                    json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
                let answer = protocol.parse(answer.to_string().as_bytes(), &mut |_| {});
                transcript.push(Message::Assistant(answer.unwrap()));
            }
            "tool" => {
                let result = json!({
                    "role": "tool",
                    "call_id": message["tool_call_id"],
                    "name": "",
                    "outcome": "ok",
                    "text": text(&message["content"])?,
                });
                transcript.push(serde_json::from_value(result).unwrap());
            }
            _ => return None,
        }
    }
    let tools = ToolSet::from_tools(recorded["tools"].as_array().into_iter().flatten().map(tool));
    let choice = choice(&recorded["tool_choice"]);
    let mut options = RequestOptions::new();
    let known = [
        "messages",
        "model",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    ];
    for (key, value) in recorded.as_object().unwrap() {
        match key.as_str() {
            "max_tokens" | "max_completion_tokens" => {
                options = options.max_tokens(value.as_u64().unwrap() as u32);
            }
            key if known.contains(&key) => {}
            key => options = options.extra(key, value.clone()),
        }
    }
    let calls = match recorded["parallel_tool_calls"].as_bool() {
        None => Calls::Any,
        Some(true) => Calls::Many,
        Some(false) => Calls::One,
    };
    let request = Request::new(&transcript, &tools, &choice, &options)
        .with_instructions(instructions.as_deref())
        .with_calls(calls)
        .with_stream(recorded["stream"] == true);
    let pieces = protocol
        .render(recorded["model"].as_str().unwrap(), &request)
        .unwrap();
    Some(serde_json::from_slice(&pieces.concat()).unwrap())
}

/// The text of a content that holds no more than text and images.
fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let known = |part: &Value| part["type"] == "text" || part["type"] == "image_url";
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            parts.iter().all(known).then(|| texts.collect())
        }
        _ => None,
    }
}

fn image(url: &str) -> Attachment {
    let data = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"));
    match data {
        Some((kind, data)) => Attachment {
            media_type: kind.into(),
            name: None,
            source: AttachmentSource::Base64(data.into()),
        },
        None => Attachment::from_url("image/*", url),
    }
}

fn tool(declaration: &Value) -> Arc<dyn Tool> {
    let function = &declaration["function"];
    let mut schema = function["parameters"].clone();
    schema.as_object_mut().unwrap().remove("strict");
    let run = async |_: Value| Ok::<_, ToolError>("");
    let text = |key: &str| function[key].as_str().unwrap_or_default();
    let tool = FunctionTool::new(text("name"), text("description"), schema, run).unwrap();
    match function["strict"].as_bool() {
        Some(strict) => Arc::new(tool.define(|definition| definition.with_strict(strict))),
        None => Arc::new(tool),
    }
}

fn choice(recorded: &Value) -> ToolChoice {
    match recorded {
        Value::String(word) => match word.as_str() {
            "required" | "any" => ToolChoice::Required,
            "none" => ToolChoice::None,
            _ => ToolChoice::Auto,
        },
        Value::Object(choice) => {
            ToolChoice::Tool(choice["function"]["name"].as_str().unwrap().into())
        }
        _ => ToolChoice::Auto,
    }
}
