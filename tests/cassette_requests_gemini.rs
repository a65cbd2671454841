//! P2: our requests against recorded ones of Gemini's generateContent.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::requests::{
    Difference, Question, Recorded, base64, compare, default, each, remove, tool,
};
use tool_core::{Attachment, Message, RequestOptions, ToolChoice, UserMessage};

#[test]
fn every_recorded_request_is_the_one_we_send_but_for_justified_differences() {
    compare(
        "generate_content",
        Some("/candidates/0/content/parts"),
        DIFFERENCES,
        rebuild,
    );
}

const DIFFERENCES: &[Difference] = &[
    (
        "no configuration",
        "ruby_llm sends an empty `generationConfig`; we leave it out",
        |body| default(body, "generationConfig", json!({})),
    ),
    (
        "the mode in lower case",
        "the host takes both; the documentation writes capitals",
        |body| {
            if let Some(mode) = body.pointer_mut("/toolConfig/functionCallingConfig/mode") {
                *mode = mode.as_str().unwrap().to_uppercase().into();
            }
        },
    ),
    (
        "the old form of a schema",
        "`parameters` knows no references, no alternatives and no bounds of text; ours is the JSON Schema itself",
        |body| {
            for tool in each(body, "tools") {
                for function in each(tool, "functionDeclarations") {
                    if let Some(mut schema) = function["parameters"].take().as_object().cloned() {
                        remove(function, &["parameters"]);
                        schema.iter_mut().for_each(|(key, value)| lower(key, value));
                        function["parametersJsonSchema"] = schema.into();
                    }
                    default(function, "parameters", Value::Null);
                }
            }
        },
    ),
    (
        "the signature of the first call on the second one too",
        "ruby_llm keeps one signature for a whole answer; it came with the first call only",
        |body| {
            for content in each(body, "contents") {
                let mut first = Value::Null;
                for part in each(content, "parts").filter(|part| !part["functionCall"].is_null()) {
                    let signature = part["thoughtSignature"].clone();
                    if first.is_null() {
                        first = signature;
                    } else if signature == first || signature.is_null() {
                        remove(part, &["thoughtSignature"]);
                    }
                }
            }
        },
    ),
    (
        "the id of a call",
        "ruby_llm drops it, so that the host must go by the order; we send back what was given",
        |body| {
            for content in each(body, "contents") {
                for part in each(content, "parts") {
                    for member in ["functionCall", "functionResponse"] {
                        if let Some(member) = part.get_mut(member) {
                            remove(member, &["id"]);
                        }
                    }
                }
            }
        },
    ),
    (
        "how a result is wrapped",
        "`output` is the documented member; ruby_llm repeats the name and wraps the text as parts",
        |body| {
            for content in each(body, "contents") {
                for part in each(content, "parts") {
                    if let Some(response) = part.pointer_mut("/functionResponse/response")
                        && let Some(text) = response.pointer("/content/0/text")
                    {
                        *response = json!({ "output": text });
                    }
                }
            }
        },
    ),
    (
        "an answer in several parts",
        "words that came in pieces, unsigned, are sent back as one part",
        |body| {
            for content in each(body, "contents") {
                let parts = content["parts"].as_array_mut().unwrap();
                parts.retain(|part| part["thought"] != true);
                let is_plain =
                    |part: &Value| part.as_object().unwrap().len() == 1 && part["text"].is_string();
                if parts.len() > 1 && parts.iter().all(is_plain) {
                    let text: String = parts
                        .iter()
                        .map(|part| part["text"].as_str().unwrap())
                        .collect();
                    *parts = vec![json!({ "text": text })];
                }
            }
        },
    ),
];

/// The names of types as JSON Schema writes them.
fn lower(key: &str, value: &mut Value) {
    match value {
        Value::String(kind) if key == "type" => *kind = kind.to_lowercase(),
        Value::Object(members) => members
            .iter_mut()
            .for_each(|(key, value)| lower(key, value)),
        Value::Array(all) => all.iter_mut().for_each(|value| lower("", value)),
        _ => {}
    }
}

fn rebuild(recorded: &Recorded<'_>) -> Result<Question, &'static str> {
    let body = recorded.body;
    let (model, method) = recorded
        .path
        .strip_prefix("/v1beta/models/")
        .unwrap()
        .split_once(':')
        .unwrap();
    let stream = method.starts_with("stream");
    assert_eq!(
        format!("/v1beta{}", recorded.protocol.path(model, stream)),
        recorded.path
    );
    let mut question = Question {
        model: model.into(),
        stream,
        instructions: body
            .pointer("/systemInstruction/parts/0/text")
            .map(|text| text.as_str().unwrap().into()),
        options: RequestOptions::new(),
        ..Question::default()
    };
    for entry in body["tools"].as_array().into_iter().flatten() {
        let Some(functions) = entry["functionDeclarations"].as_array() else {
            let options = std::mem::take(&mut question.options);
            question.options = options.hosted_tool("gemini", entry.clone());
            continue;
        };
        for function in functions {
            let mut schema = match &function["parameters"] {
                Value::Null => function["parametersJsonSchema"].clone(),
                schema => schema.clone(),
            };
            lower("", &mut schema);
            question.tools.push(tool(
                &function["name"],
                &function["description"],
                &schema,
                None,
                false,
            ));
        }
    }
    let config = &body["toolConfig"]["functionCallingConfig"];
    let allowed: Vec<String> =
        serde_json::from_value(config["allowedFunctionNames"].clone()).unwrap_or_default();
    question.choice = match (
        config["mode"]
            .as_str()
            .unwrap_or_default()
            .to_uppercase()
            .as_str(),
        allowed.as_slice(),
    ) {
        ("NONE", _) => ToolChoice::None,
        ("ANY", [only]) => ToolChoice::Tool(only.clone()),
        ("ANY", _) => ToolChoice::Required,
        ("VALIDATED", _) => {
            return Err("its tools are held to their schemas, but not each by itself");
        }
        _ => ToolChoice::Auto,
    };
    if allowed.len() > 1 {
        question.allowed = Some(allowed);
    }
    question.extra(
        body,
        &["contents", "systemInstruction", "tools", "toolConfig"],
    );
    contents(recorded, &mut question)?;
    Ok(question)
}

fn contents(recorded: &Recorded<'_>, question: &mut Question) -> Result<(), &'static str> {
    let mut answers = 0;
    let mut calls: Vec<(String, String)> = Vec::new();
    for content in recorded.body["contents"].as_array().unwrap() {
        let parts = content["parts"].as_array().unwrap();
        if content["role"] == "model" {
            // The ids are our own where none were given, and the names are all that can be compared.
            let names: Vec<&str> = parts
                .iter()
                .filter_map(|part| part["functionCall"]["name"].as_str())
                .collect();
            let known = recorded.earlier.get(answers);
            let is_known = |answer: &&tool_core::AssistantMessage| {
                answer
                    .tool_calls()
                    .map(|call| call.name.as_str())
                    .eq(names.iter().copied())
            };
            let answer = known.filter(is_known).cloned();
            let answer = answer.unwrap_or_else(|| {
                recorded
                    .read(json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] }))
            });
            answers += 1;
            calls = answer
                .tool_calls()
                .map(|call| (call.id.clone(), call.name.clone()))
                .collect();
            question.transcript.push(Message::Assistant(answer));
            continue;
        }
        let mut user = UserMessage::default();
        let mut is_said = false;
        for part in parts {
            if let Some(name) = part["functionResponse"]["name"].as_str() {
                let position = calls.iter().position(|(_, known)| known == name).unwrap();
                let (id, name) = calls.remove(position);
                let response = &part["functionResponse"]["response"];
                let text = response
                    .pointer("/content/0/text")
                    .or(response.get("output"));
                let text = text
                    .and_then(Value::as_str)
                    .ok_or("a result is an object")?;
                question.result(&id.into(), &name, text, Vec::new());
                continue;
            }
            is_said = true;
            match (&part["text"], &part["inlineData"]) {
                (Value::String(text), _) => user.text.push_str(text),
                (_, Value::Object(data)) => user.attachments.push(inline(data)),
                _ => return Err("the user says it with a file of the provider's"),
            }
        }
        if is_said {
            question.transcript.push(Message::User(user));
        }
    }
    Ok(())
}

fn inline(data: &serde_json::Map<String, Value>) -> Attachment {
    base64(
        data["mimeType"].as_str().unwrap(),
        data["data"].as_str().unwrap(),
    )
}
