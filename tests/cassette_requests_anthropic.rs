//! P2: our requests against recorded ones of Anthropic's Messages.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::requests::{
    Difference, Question, Recorded, base64, compare, default, each, normal_schema, one_text,
    remove, tool,
};
use tool_core::{Attachment, Calls, Message, RequestOptions, ToolChoice, UserMessage};

#[test]
fn every_recorded_request_is_the_one_we_send_but_for_justified_differences() {
    compare("messages", Some("/content"), DIFFERENCES, rebuild);
}

const DIFFERENCES: &[Difference] = &[
    (
        "a default that is said or not",
        "`stream: false`, `tool_choice: auto` and `is_error: false` are what a host does unasked",
        |body| {
            default(body, "stream", json!(false));
            default(body, "tool_choice", json!({ "type": "auto" }));
            blocks(body, |block| default(block, "is_error", json!(false)));
        },
    ),
    (
        "text as an array of one block",
        "both forms mean the same; ours is the shorter one",
        |body| {
            if let Some(system) = body.get_mut("system") {
                one_text(system, "text");
            }
            each(body, "messages")
                .filter(|message| message["role"] == "user")
                .for_each(|message| one_text(&mut message["content"], "text"));
            blocks(body, |block| {
                if block["type"] == "tool_result" {
                    one_text(&mut block["content"], "text");
                }
            });
            // What holds words alone is not kept as it came.
            each(body, "messages").for_each(|message| {
                if let Value::String(text) = &message["content"] {
                    message["content"] = json!([{ "type": "text", "text": text }]);
                }
            });
        },
    ),
    ("an empty description", "we leave it out", |body| {
        each(body, "tools").for_each(|tool| default(tool, "description", json!("")))
    }),
    (
        "the normal form of a schema, and `strict` inside of it",
        "ours always says which members are required and that there are no others; `strict` belongs beside it",
        |body| {
            for tool in each(body, "tools") {
                if let Some(schema) = tool.get_mut("input_schema") {
                    normal_schema(schema);
                }
            }
        },
    ),
    (
        "who called a tool",
        "`caller` came with the call and is sent back; the recorded clients rebuilt the call without it",
        |body| blocks(body, |block| remove(block, &["caller"])),
    ),
    (
        "search by patterns",
        "we ask for the search by words; the other one is a hosted tool of the user's",
        |body| {
            for tool in each(body, "tools") {
                if tool["name"] == "tool_search_tool_regex" {
                    *tool = json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" });
                }
            }
        },
    ),
];

fn blocks(body: &mut Value, change: impl Fn(&mut Value)) {
    for message in each(body, "messages") {
        each(message, "content").for_each(&change);
    }
}

fn rebuild(recorded: &Recorded<'_>) -> Result<Question, &'static str> {
    let body = recorded.body;
    assert!(recorded.path.starts_with("/v1/messages"));
    let tools = || body["tools"].as_array().into_iter().flatten();
    let is_search = |tool: &Value| {
        let kind = tool["type"].as_str();
        kind.is_some_and(|kind| kind.starts_with("tool_search_tool"))
    };
    let is_deferred = |tool: &Value| tool["defer_loading"] == true;
    if tools().any(is_deferred) && !tools().any(is_search) {
        return Err("its deferred tools are found by a function of the client");
    }
    let mut question = Question {
        model: body["model"].as_str().unwrap().into(),
        instructions: body.get("system").map(words),
        stream: body["stream"] == true,
        options: RequestOptions::new().max_tokens(body["max_tokens"].as_u64().unwrap() as u32),
        ..Question::default()
    };
    for declared in tools().filter(|tool| !is_search(tool)) {
        if declared.get("input_schema").is_none() {
            let options = std::mem::take(&mut question.options);
            question.options = options.hosted_tool("anthropic", declared.clone());
            continue;
        }
        question.tools.push(tool(
            &declared["name"],
            &declared["description"],
            &declared["input_schema"],
            declared["strict"].as_bool(),
            is_deferred(declared),
        ));
    }
    let choice = &body["tool_choice"];
    question.choice = match choice["type"].as_str() {
        Some("any") => ToolChoice::Required,
        Some("none") => ToolChoice::None,
        Some("tool") => ToolChoice::Tool(choice["name"].as_str().unwrap().into()),
        _ => ToolChoice::Auto,
    };
    if choice["disable_parallel_tool_use"] == true {
        question.calls = Calls::One;
    }
    let known = [
        "model",
        "system",
        "stream",
        "max_tokens",
        "tools",
        "tool_choice",
        "messages",
    ];
    question.extra(body, &known);
    messages(recorded, &mut question)?;
    Ok(question)
}

fn messages(recorded: &Recorded<'_>, question: &mut Question) -> Result<(), &'static str> {
    let mut answers = 0;
    for message in recorded.body["messages"].as_array().unwrap() {
        let content = &message["content"];
        let blocks = || content.as_array().into_iter().flatten();
        match message["role"].as_str().unwrap() {
            "assistant" => {
                let ids: Vec<&str> = blocks()
                    .filter(|block| block["type"] == "tool_use")
                    .map(|block| block["id"].as_str().unwrap())
                    .collect();
                let answer = recorded.answer(answers, &ids).unwrap_or_else(|| {
                    recorded.read(json!({ "content": blocks().collect::<Vec<_>>(), "stop_reason": "end_turn" }))
                });
                answers += 1;
                question.transcript.push(Message::Assistant(answer));
            }
            "user" => {
                for block in blocks().filter(|block| block["type"] == "tool_result") {
                    let mut attachments = Vec::new();
                    for part in block["content"].as_array().into_iter().flatten() {
                        match part["type"].as_str().unwrap() {
                            "text" => {}
                            "image" => attachments.push(image(part)),
                            _ => return Err("a result holds more than words and images"),
                        }
                    }
                    let text = words(&block["content"]);
                    question.result(&block["tool_use_id"], "", &text, attachments);
                }
                let is_said =
                    content.is_string() || blocks().any(|block| block["type"] != "tool_result");
                if is_said {
                    let images = blocks().filter(|block| block["type"] == "image").map(image);
                    let user = UserMessage {
                        text: words(content),
                        attachments: images.collect(),
                    };
                    question.transcript.push(Message::User(user));
                }
            }
            _ => return Err("it changes the tools within the conversation"),
        }
    }
    Ok(())
}

fn image(block: &Value) -> Attachment {
    let source = &block["source"];
    match source["url"].as_str() {
        Some(url) => Attachment::from_url("image/*", url),
        None => base64(
            source["media_type"].as_str().unwrap(),
            source["data"].as_str().unwrap(),
        ),
    }
}

fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        content => {
            let texts = content.as_array().into_iter().flatten();
            let texts = texts.filter(|block| block["type"] == "text");
            texts.filter_map(|block| block["text"].as_str()).collect()
        }
    }
}
