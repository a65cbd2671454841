//! P2: our requests against recorded ones of Ollama's own chat protocol.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::requests::{
    Difference, Question, Recorded, base64, compare, default, each, normal_schema, remove, tool,
};
use tool_core::{Message, UserMessage};

#[test]
fn every_recorded_request_is_the_one_we_send_but_for_justified_differences() {
    compare("ollama_chat", None, DIFFERENCES, rebuild);
}

const DIFFERENCES: &[Difference] = &[
    (
        "a default that is said or not",
        "`stream: true` is what the host does unasked, and empty options say nothing",
        |body| {
            default(body, "options", json!({}));
            default(body, "stream", json!(true));
        },
    ),
    (
        "the id of a call",
        "the host knows it; Rig leaves it out and goes by the name alone",
        |body| {
            for message in each(body, "messages") {
                remove(message, &["tool_call_id"]);
                each(message, "tool_calls").for_each(|call| remove(call, &["id"]));
            }
        },
    ),
    (
        "the type of a call",
        "there is but one, and the host does not read it",
        |body| {
            for message in each(body, "messages") {
                each(message, "tool_calls").for_each(|call| remove(call, &["type"]));
            }
        },
    ),
    (
        "the normal form of a schema",
        "ours always says which members are required; that there are no others the host drops",
        |body| {
            each(body, "tools").for_each(|tool| normal_schema(&mut tool["function"]["parameters"]))
        },
    ),
];

fn rebuild(recorded: &Recorded<'_>) -> Result<Question, &'static str> {
    let body = recorded.body;
    assert_eq!(
        recorded.path,
        format!("/api{}", recorded.protocol.path("", false))
    );
    let mut question = Question {
        model: body["model"].as_str().unwrap().into(),
        stream: body["stream"] != false,
        ..Question::default()
    };
    for declared in body["tools"].as_array().into_iter().flatten() {
        let function = &declared["function"];
        question.tools.push(tool(
            &function["name"],
            &function["description"],
            &function["parameters"],
            None,
            false,
        ));
    }
    question.extra(body, &["model", "stream", "tools", "messages"]);
    let mut answers = 0;
    let mut calls: Vec<(String, String)> = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        let text = message["content"].as_str().unwrap_or_default();
        match message["role"].as_str().unwrap() {
            "system" if question.transcript.messages().is_empty() => {
                question.instructions = Some(text.into())
            }
            "user" => {
                let images = message["images"].as_array().into_iter().flatten();
                let user = UserMessage {
                    text: text.into(),
                    attachments: images
                        .map(|data| base64("image/png", data.as_str().unwrap()))
                        .collect(),
                };
                question.transcript.push(Message::User(user));
            }
            "assistant" => {
                let names: Vec<&str> = message["tool_calls"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|call| call["function"]["name"].as_str().unwrap())
                    .collect();
                let is_known = |answer: &&tool_core::AssistantMessage| {
                    answer
                        .tool_calls()
                        .map(|call| call.name.as_str())
                        .eq(names.iter().copied())
                };
                let answer = recorded.earlier.get(answers).filter(is_known).cloned();
                let answer = answer
                    .unwrap_or_else(|| recorded.read(json!({ "message": message, "done": true })));
                answers += 1;
                calls = answer
                    .tool_calls()
                    .map(|call| (call.id.clone(), call.name.clone()))
                    .collect();
                question.transcript.push(Message::Assistant(answer));
            }
            "tool" => {
                let name = message["tool_name"].as_str();
                let position = calls
                    .iter()
                    .position(|(_, known)| name.is_none_or(|name| name == known));
                let (id, name) = calls.remove(position.unwrap());
                question.result(&Value::from(id), &name, text, Vec::new());
            }
            _ => return Err("instructions in the middle"),
        }
    }
    Ok(question)
}
