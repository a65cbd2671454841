//! P1, P4: a llama.cpp server that no one here wrote, at `TOOL_LLAMA_URL` with the key `TOOL_LLAMA_KEY`,
//! over the three protocols that it speaks. `scripts/test` starts one.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_core::{
    Chat, FunctionTool, Limits, Message, ModelErrorKind, RequestOptions, Tool, ToolChoice,
    ToolError, ToolOptions, ToolSet, Turn,
};
use tool_providers::{Anthropic, Api, Compatible, Provider};

/// The server over each of its protocols, and the member of a request that holds the messages.
fn servers() -> Vec<(Provider, &'static str)> {
    let Ok(address) = std::env::var("TOOL_LLAMA_URL") else {
        eprintln!("skipped: set TOOL_LLAMA_URL to the address of a llama.cpp server");
        return Vec::new();
    };
    let key = std::env::var("TOOL_LLAMA_KEY").unwrap_or_default();
    let compatible = || Compatible::at(&address).key(key.as_str());
    let messages = Anthropic::new(key.as_str()).base_url(&address);
    vec![
        (compatible(), "messages"),
        (compatible().api(Api::responses()), "input"),
        (messages, "messages"),
    ]
}

/// The server over each of its protocols, streamed and not.
fn ways() -> Vec<(Provider, bool)> {
    let both = |(provider, _): (Provider, _)| [(provider.clone(), false), (provider, true)];
    servers().into_iter().flat_map(both).collect()
}

/// The tools, and the arguments with which they were called.
fn tools() -> (ToolSet, Arc<Mutex<Vec<Value>>>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let tool = |name: &str,
                description: &str,
                properties: Value,
                required: Value,
                answer: &'static str| {
        let calls = calls.clone();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let run = move |arguments: Value| {
            calls.lock().unwrap().push(arguments);
            std::future::ready(Ok::<_, ToolError>(answer))
        };
        Arc::new(FunctionTool::new(name, description, schema, run).unwrap()) as Arc<dyn Tool>
    };
    let weather = tool(
        "get_weather",
        "Get the current weather for a city.",
        json!({ "city": { "type": "string" } }),
        json!(["city"]),
        "18 degrees and sunny",
    );
    let add = tool(
        "add",
        "Add two numbers.",
        json!({ "a": { "type": "number" }, "b": { "type": "number" } }),
        json!(["a", "b"]),
        "42",
    );
    (ToolSet::from_tools([weather, add]), calls)
}

fn chat(provider: &Provider) -> Chat {
    let options = RequestOptions::new().temperature(0.0).max_tokens(64);
    Chat::new(provider.first_model())
        .with_request_options(options)
        .with_limits(Limits::new().rounds(2))
}

#[tokio::test]
async fn it_answers_plain_and_streamed_and_takes_a_second_turn() {
    for (provider, streaming) in ways() {
        let heard = Arc::new(Mutex::new(String::new()));
        let sink = heard.clone();
        let mut chat = chat(&provider)
            .with_streaming(streaming)
            .on_event(move |event| {
                if let tool_core::Event::Text(text) = event {
                    sink.lock().unwrap().push_str(text);
                }
            });
        for question in ["Say hello.", "Say it once more."] {
            heard.lock().unwrap().clear();
            let Turn::Answer(answer) = chat.ask(question).await.unwrap() else {
                panic!("no answer")
            };
            assert!(!answer.text().is_empty());
            assert_eq!(*heard.lock().unwrap(), answer.text());
            assert!(answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0);
            assert!(!answer.model.is_empty());
        }
        assert_eq!(chat.messages().len(), 4);
    }
}

#[tokio::test]
async fn it_calls_a_tool_and_reads_its_result() {
    for (provider, streaming) in ways() {
        let (tools, calls) = tools();
        let mut chat = chat(&provider).with_tools(tools).with_streaming(streaming);
        chat.ask("What is the weather in Paris?")
            .await
            .map(drop)
            .unwrap();
        assert_eq!(calls.lock().unwrap()[0], json!({ "city": "Paris" }));
        assert!(matches!(&chat.messages()[2], Message::Tool(result) if result.text.contains("18")));
        assert!(matches!(chat.messages()[3], Message::Assistant(_)));
    }
}

#[tokio::test]
async fn it_calls_the_tool_that_it_must_call() {
    for (provider, streaming) in ways() {
        let (tools, calls) = tools();
        let required = ToolOptions::new().choice(ToolChoice::Required);
        let mut chat = chat(&provider)
            .with_tools(tools)
            .with_streaming(streaming)
            .with_tool_options(required);
        chat.ask("Add 17 and 25.").await.map(drop).unwrap();
        let calls = calls.lock().unwrap();
        assert_eq!(
            calls[0]["a"].as_f64().zip(calls[0]["b"].as_f64()),
            Some((17.0, 25.0))
        );
        // The choice was cleared when the tool had run.
        assert!(chat.messages().len() >= 4);
    }
}

#[tokio::test]
async fn a_wrong_key_and_a_bad_request_are_typed_errors() {
    for (provider, messages) in servers() {
        if std::env::var_os("TOOL_LLAMA_KEY").is_some() {
            let wrong = provider.clone().key("not-the-key-at-all");
            let error = Chat::new(wrong.model("local")).ask("hi").await.unwrap_err();
            let error = error.model_error().unwrap();
            assert_eq!(
                (error.kind(), error.status()),
                (ModelErrorKind::Auth, Some(401))
            );
        }
        let options =
            RequestOptions::new().extra(messages, json!([{ "role": "user", "content": 5 }]));
        let mut chat = Chat::new(provider.model("local")).with_request_options(options);
        let error = chat.ask("hi").await.unwrap_err();
        let error = error.model_error().unwrap();
        assert_eq!(
            (error.kind(), error.status()),
            (ModelErrorKind::BadRequest, Some(400)),
            "{error}"
        );
        assert!(!error.message().is_empty());
    }
}
