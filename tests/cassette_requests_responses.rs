//! P2: our requests against recorded ones of OpenAI's Responses.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::requests::{
    Difference, Question, Recorded, compare, default, each, image, normal_schema, one_text, remove,
    tool,
};
use tool_core::model::RemoteMcp;
use tool_core::{AssistantMessage, Attachment, Calls, Message, ToolChoice, UserMessage};

#[test]
fn every_recorded_request_is_the_one_we_send_but_for_justified_differences() {
    compare("responses", Some("/output"), DIFFERENCES, rebuild);
}

const DIFFERENCES: &[Difference] = &[
    (
        "a default that is said or not",
        "`stream: false` and `tool_choice: auto` are what a host does unasked",
        |body| {
            default(body, "stream", json!(false));
            default(body, "tool_choice", json!("auto"));
        },
    ),
    (
        "whether the provider keeps the conversation",
        "we never ask it to, and send everything; some recorded clients left the default, which keeps it",
        |body| default(body, "store", json!(false)),
    ),
    (
        "reasoning asked for",
        "what is not kept at the provider must come encrypted, to be sent back",
        |body| body["include"] = json!(["reasoning.encrypted_content"]),
    ),
    (
        "text as an array of one part",
        "both forms mean the same; ours is the shorter one",
        |body| {
            each(body, "input").for_each(|item| {
                if item["role"] == "user" {
                    one_text(&mut item["content"], "input_text");
                } else if item["role"] == "assistant" {
                    one_text(&mut item["content"], "output_text");
                }
            });
        },
    ),
    (
        "what a client left out of an item that it sent back",
        "we send back all of it, as WIRE.md 3 asks; `kept` checks that",
        |body| {
            let left_out = [
                "id",
                "status",
                "logprobs",
                "annotations",
                "approval_request_id",
                "phase",
                "type",
            ];
            each(body, "input").for_each(|item| {
                let keys = match item["type"].as_str() {
                    None | Some("message") => &left_out[..],
                    _ => &left_out[..6],
                };
                if item["type"] != "item_reference" && item["type"] != "mcp_approval_request" {
                    remove(item, keys);
                }
                default(item, "content", json!([]));
                default(item, "encrypted_content", Value::Null);
                each(item, "content").for_each(|part| remove(part, &left_out[1..6]));
            });
        },
    ),
    ("an empty description", "we leave it out", |body| {
        each(body, "tools").for_each(|tool| {
            default(tool, "description", json!(""));
            default(tool, "description", Value::Null);
        });
    }),
    (
        "strictness that is not said",
        "left out, the host tries to be strict; we say that it shall not",
        |body| {
            each(body, "tools")
                .filter(|tool| tool["type"] == "function")
                .for_each(|tool| default(tool, "strict", json!(false)));
        },
    ),
    (
        "the normal form of a schema, and `strict` inside of it",
        "ours always says which members are required and that there are no others; `strict` belongs beside it",
        |body| {
            for tool in each(body, "tools").filter(|tool| tool["type"] == "function") {
                normal_schema(&mut tool["parameters"]);
            }
        },
    ),
    (
        "the place of the search",
        "ours is the last of the tools",
        |body| {
            if let Some(Value::Array(tools)) = body.get_mut("tools") {
                tools.sort_by_key(|tool| tool["type"] == "tool_search");
            }
        },
    ),
    (
        "a search of the provider's sent back in part",
        "pydantic-ai leaves the output out, sets an id of its own and rewrites the arguments; replay it as it came",
        |body| {
            if let Some(Value::Array(items)) = body.get_mut("input") {
                items.retain(|item| item["type"] != "tool_search_output");
            }
            each(body, "input")
                .filter(|item| item["type"] == "tool_search_call")
                .for_each(|item| remove(item, &["call_id", "arguments"]));
        },
    ),
    (
        "a remote server's part sent back in part",
        "pydantic-ai leaves out what the server listed and gave",
        |body| {
            each(body, "input").for_each(|item| match item["type"].as_str() {
                Some("mcp_list_tools") => item["tools"] = json!([]),
                Some("mcp_call") => item["output"] = Value::Null,
                _ => {}
            });
        },
    ),
    (
        "a reference to what the provider keeps",
        "Vercel's client refers to the request for approval; we keep nothing there and send all items of the answer",
        |body| {
            let Some(Value::Array(items)) = body.get_mut("input") else {
                return;
            };
            for item in items
                .iter_mut()
                .filter(|item| item["type"] == "mcp_approval_request")
            {
                *item = json!({ "type": "item_reference", "id": item["id"] });
            }
            if items.iter().any(|item| item["type"] == "item_reference") {
                items
                    .retain(|item| item["type"] != "mcp_list_tools" && item["type"] != "reasoning");
            }
        },
    ),
    (
        "an image of a result in a message of its own",
        "ruby_llm sends it as if the user had; a result can hold it",
        |body| {
            let Some(Value::Array(items)) = body.get_mut("input") else {
                return;
            };
            let follows = |item: &Value| attached_to(item).is_some();
            while let Some(at) = items.iter().position(follows) {
                let mut follow_up = items.remove(at);
                let id = attached_to(&follow_up).unwrap().to_owned();
                let output = items
                    .iter_mut()
                    .find(|item| item["call_id"] == id && item.get("output").is_some());
                let output = &mut output.unwrap()["output"];
                follow_up["content"][0]["text"] = output.take();
                *output = follow_up["content"].take();
            }
        },
    ),
];

/// The call whose result a message of the user's stands for.
fn attached_to(item: &Value) -> Option<&str> {
    let text = item.pointer("/content/0/text")?.as_str()?;
    text.strip_prefix("Attachments from tool call ")?
        .strip_suffix(':')
}

fn rebuild(recorded: &Recorded<'_>) -> Result<Question, &'static str> {
    let body = recorded.body;
    assert!(recorded.path.ends_with(&recorded.protocol.path("", false)));
    let mut question = Question {
        model: body["model"].as_str().unwrap().into(),
        instructions: body["instructions"].as_str().map(Into::into),
        stream: body["stream"] == true,
        ..Question::default()
    };
    for declared in body["tools"].as_array().into_iter().flatten() {
        match declared["type"].as_str().unwrap() {
            "function" => question.tools.push(tool(
                &declared["name"],
                &declared["description"],
                &declared["parameters"],
                declared["strict"].as_bool(),
                declared["defer_loading"] == true,
            )),
            "tool_search" if declared["execution"] == "client" => {
                return Err("the client searches its tools by an item");
            }
            "tool_search" => {}
            "mcp" => question.options.remote_mcp.push(server(declared)),
            _ => {
                let options = std::mem::take(&mut question.options);
                question.options = options.hosted_tool("responses", declared.clone());
            }
        }
    }
    match &body["tool_choice"] {
        Value::String(word) if word == "required" => question.choice = ToolChoice::Required,
        Value::String(word) if word == "none" => question.choice = ToolChoice::None,
        choice if choice["type"] == "function" => {
            question.choice = ToolChoice::Tool(choice["name"].as_str().unwrap().into());
        }
        choice if choice["type"] == "allowed_tools" => {
            let names = choice["tools"].as_array().unwrap().iter();
            question.allowed = Some(
                names
                    .map(|tool| tool["name"].as_str().unwrap().into())
                    .collect(),
            );
            if choice["mode"] == "required" {
                question.choice = ToolChoice::Required;
            }
        }
        _ => {}
    }
    question.calls = match body["parallel_tool_calls"].as_bool() {
        None => Calls::Any,
        Some(true) => Calls::Many,
        Some(false) => Calls::One,
    };
    question.options.max_tokens = body["max_output_tokens"].as_u64().map(|limit| limit as u32);
    let known = [
        "model",
        "instructions",
        "stream",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "max_output_tokens",
        "store",
        "include",
        "input",
    ];
    question.extra(body, &known);
    input(recorded, &mut question)?;
    Ok(question)
}

fn server(declared: &Value) -> RemoteMcp {
    let text = |key: &str| declared[key].as_str().unwrap().to_owned();
    let mut server = RemoteMcp::new(text("server_label"), text("server_url"));
    if declared["server_description"].is_string() {
        server = server.description(text("server_description"));
    }
    if let Some(names) = declared["allowed_tools"].as_array() {
        server = server.allowed_tools(names.iter().map(|name| name.as_str().unwrap()));
    }
    for (name, value) in declared["headers"].as_object().into_iter().flatten() {
        server = server.header(name, value.as_str().unwrap());
    }
    match declared["require_approval"] == "never" {
        true => server.without_approval(),
        false => server,
    }
}

fn input(recorded: &Recorded<'_>, question: &mut Question) -> Result<(), &'static str> {
    let items = recorded.body["input"].as_array().unwrap();
    let mut answers = 0;
    let mut at = 0;
    while let Some(item) = items.get(at) {
        at += 1;
        match item["type"].as_str().unwrap_or("message") {
            "message" if item["role"] == "user" => match attached_to(item) {
                Some(id) => attach(question, id, item),
                None => question
                    .transcript
                    .push(Message::User(user(&item["content"]))),
            },
            "function_call_output" => {
                let text = item["output"].as_str().ok_or("a result of several parts")?;
                question.result(&item["call_id"], "", text, Vec::new());
            }
            "mcp_approval_response" => {
                let outcome = if item["approve"] == true {
                    "approved"
                } else {
                    "denied"
                };
                let decision = json!({ "role": "tool", "call_id": item["approval_request_id"], "name": "",
                    "outcome": outcome, "text": "{}" });
                question
                    .transcript
                    .push(serde_json::from_value(decision).unwrap());
            }
            "additional_tools" | "tool_search_output" if item["execution"] != "server" => {
                return Err("it adds tools within the conversation");
            }
            _ => {
                let start = at - 1;
                while items.get(at).is_some_and(is_answered) {
                    at += 1;
                }
                let answer = answer(recorded, answers, &items[start..at]);
                answers += 1;
                question.transcript.push(Message::Assistant(answer));
            }
        }
    }
    Ok(())
}

/// Whether an item is part of an answer.
fn is_answered(item: &Value) -> bool {
    let others = [
        "function_call_output",
        "mcp_approval_response",
        "additional_tools",
    ];
    let kind = item["type"].as_str().unwrap_or("message");
    !others.contains(&kind) && item["role"] != "user"
}

fn answer(recorded: &Recorded<'_>, position: usize, items: &[Value]) -> AssistantMessage {
    let id = |item: &'_ Value| match item["type"].as_str()? {
        "function_call" => item["call_id"].as_str().map(str::to_owned),
        "item_reference" => item["id"].as_str().map(str::to_owned),
        _ => None,
    };
    let ids: Vec<String> = items.iter().filter_map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    recorded
        .answer(position, &ids)
        .unwrap_or_else(|| recorded.read(json!({ "status": "completed", "output": items })))
}

fn attach(question: &mut Question, id: &str, item: &Value) {
    let images = item["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|part| part["image_url"].as_str());
    let images: Vec<Attachment> = images.map(image).collect();
    let mut messages = question.transcript.messages().to_vec();
    for message in &mut messages {
        if let Message::Tool(result) = message
            && result.call_id == id
        {
            result.attachments.clone_from(&images);
        }
    }
    question.transcript = messages.into_iter().collect();
}

fn user(content: &Value) -> UserMessage {
    if let Value::String(text) = content {
        return UserMessage::new(text);
    }
    let parts = || content.as_array().unwrap().iter();
    UserMessage {
        text: parts().filter_map(|part| part["text"].as_str()).collect(),
        attachments: parts()
            .filter_map(|part| part["image_url"].as_str())
            .map(image)
            .collect(),
    }
}
