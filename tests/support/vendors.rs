//! A request to a provider, and what each protocol answers.

use serde_json::{Value, json};
use tool_core::model::{Delta, Model, Request};
use tool_core::{
    AssistantMessage, Message, ModelError, RequestOptions, ToolChoice, ToolSet, Transcript,
};
use tool_providers::{Anthropic, Compatible, Gemini, Ollama, OpenAi, Provider};

use super::server::Reply;

/// Says hi to a model of this provider.
pub async fn ask(provider: &Provider, stream: bool) -> Result<AssistantMessage, ModelError> {
    ask_with(provider, stream, &RequestOptions::new()).await.0
}

/// The same with options; and the text that was delivered.
pub async fn ask_with(
    provider: &Provider,
    stream: bool,
    options: &RequestOptions,
) -> (Result<AssistantMessage, ModelError>, String) {
    let transcript: Transcript = [Message::User("hi".into())].into_iter().collect();
    let (tools, choice) = (ToolSet::new(), ToolChoice::Auto);
    let request = Request::new(&transcript, &tools, &choice, options).with_stream(stream);
    let mut heard = String::new();
    let mut sink = |delta: &Delta<'_>| {
        if let Delta::Text(text) = delta {
            heard.push_str(text);
        }
    };
    let answer = provider.model("m").generate(request, &mut sink).await;
    (answer, heard)
}

/// An answer of Chat Completions.
pub fn answer(text: &str) -> Reply {
    Reply::json(200, whole("compatible", text))
}

/// Every protocol at this address, by a name of its own.
pub fn all(address: &str, key: &str) -> [(&'static str, Provider); 5] {
    [
        ("compatible", Compatible::at(address).key(key)),
        (
            "responses",
            OpenAi::new(key)
                .api(tool_providers::Api::responses())
                .base_url(address),
        ),
        ("anthropic", Anthropic::new(key).base_url(address)),
        ("gemini", Gemini::new(key).base_url(address)),
        ("ollama", Ollama::native().base_url(address).key(key)),
    ]
}

/// The one of [`all`] that has this name.
pub fn one(protocol: &str, address: &str) -> Provider {
    let providers = all(address, "key-0123456789").into_iter();
    let mut found = providers.filter(|(name, _)| *name == protocol);
    found.next().unwrap().1
}

/// An answer that is not streamed.
pub fn whole(protocol: &str, text: &str) -> Value {
    match protocol {
        "compatible" => {
            json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] })
        }
        "responses" => json!({ "id": "resp_1", "status": "completed", "output": [{
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }]
        }] }),
        "anthropic" => json!({
            "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": text }], "usage": { "input_tokens": 1, "output_tokens": 1 }
        }),
        "gemini" => json!({ "candidates": [{
            "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP"
        }] }),
        "ollama" => json!({
            "message": { "role": "assistant", "content": text }, "done": true, "done_reason": "stop"
        }),
        other => panic!("no protocol {other}"),
    }
}

/// The start of a stream that says this text.
pub fn start(protocol: &str, text: &str) -> Reply {
    let event = |value: Value| format!("data: {value}\n\n");
    let events = match protocol {
        "compatible" => vec![event(
            json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }),
        )],
        "responses" => vec![
            event(json!({ "type": "response.created", "response": { "id": "resp_1" } })),
            event(
                json!({ "type": "response.output_item.added", "output_index": 0, "item": {
                "type": "message", "id": "msg_1", "role": "assistant", "content": []
            } }),
            ),
            event(
                json!({ "type": "response.content_part.added", "output_index": 0, "content_index": 0,
                "item_id": "msg_1", "part": { "type": "output_text", "text": "" } }),
            ),
            event(
                json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0,
                "item_id": "msg_1", "delta": text }),
            ),
        ],
        "anthropic" => vec![
            event(
                json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
            ),
            event(json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "text", "text": "" } })),
            event(json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "text_delta", "text": text } })),
        ],
        "gemini" => vec![event(json!({ "candidates": [{
            "content": { "role": "model", "parts": [{ "text": text }] }
        }] }))],
        "ollama" => vec![format!(
            "{}\n",
            json!({ "message": { "role": "assistant", "content": text }, "done": false })
        )],
        other => panic!("no protocol {other}"),
    };
    match protocol {
        "ollama" => Reply::stream(events).kind("application/x-ndjson"),
        _ => Reply::stream(events),
    }
}
