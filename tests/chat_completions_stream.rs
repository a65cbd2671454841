//! P1, P4, CASES G: streams are assembled to the message that the model meant, in whichever of the
//! known ways a host names the pieces of its calls.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::cassette::dialect;
use tool_core::model::Delta;
use tool_core::{AssistantMessage, Block, FinishReason, ModelError, ModelErrorKind};
use tool_providers::protocol::Protocol;
use tool_providers::protocol::chat_completions::{ChatCompletions, Dialect};

fn read(chunks: &[&str]) -> Result<AssistantMessage, ModelError> {
    let protocol = ChatCompletions::new(Dialect::STANDARD, "test");
    let mut stream = protocol.stream();
    for chunk in chunks {
        stream.push(chunk.as_bytes(), &mut |_| {})?;
    }
    stream.finish()
}

/// A stream of these pieces of calls.
fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
    let chunks = pieces.iter().map(|calls| {
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": calls } }] }).to_string()
    });
    let mut chunks: Vec<String> = chunks.collect();
    chunks.push(
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })
            .to_string(),
    );
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let calls = read(&chunks).unwrap();
    let calls = calls.tool_calls();
    calls
        .map(|call| {
            (
                call.id.clone(),
                call.name.clone(),
                call.arguments.to_string(),
            )
        })
        .collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

#[test]
fn b80_two_calls_in_one_stream_come_out_in_order() {
    let read = calls(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "" } }]),
        json!([{ "index": 1, "id": "b", "function": { "name": "g", "arguments": "{\"y\"" } }]),
        // The first is not over when the second begins.
        json!([{ "index": 0, "function": { "arguments": "{\"x\":1}" } }, { "index": 1, "function": { "arguments": ":2}" } }]),
    ]);
    assert_eq!(
        read,
        [call("a", "f", "{\"x\":1}"), call("b", "g", "{\"y\":2}")]
    );
}

#[test]
fn b82_without_an_index_the_id_or_the_order_decides() {
    let read = calls(&[
        json!([{ "id": "a", "function": { "name": "f", "arguments": "{" } }]),
        json!([{ "function": { "arguments": "}" } }]),
        json!([{ "id": "b", "function": { "name": "g", "arguments": "{\"y\":" } }]),
        json!([{ "id": "b", "function": { "arguments": "2" } }, { "function": { "arguments": "}" } }]),
    ]);
    assert_eq!(read, [call("a", "f", "{}"), call("b", "g", "{\"y\":2}")]);
}

#[test]
fn b83_an_id_only_in_the_first_piece_or_in_every_one() {
    for id in [json!(null), json!(""), json!("a")] {
        let read = calls(&[
            json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{" } }]),
            json!([{ "index": 0, "id": id, "function": { "name": null, "arguments": "}" } }]),
        ]);
        assert_eq!(read, [call("a", "f", "{}")]);
    }
}

#[test]
fn b85_indexes_that_start_at_one_make_no_phantom() {
    let read = calls(&[
        json!([{ "index": 1, "id": "a", "function": { "name": "f", "arguments": "{}" } }]),
        json!([{ "index": 2, "id": "b", "function": { "name": "g", "arguments": "{}" } }]),
    ]);
    assert_eq!(read, [call("a", "f", "{}"), call("b", "g", "{}")]);
}

#[test]
fn b88_whole_calls_one_or_several_in_a_chunk() {
    let read = calls(&[json!([
        { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{\"x\":1}" } },
        { "id": "b", "type": "function", "function": { "name": "f", "arguments": "{\"x\":2}" } },
    ])]);
    assert_eq!(
        read,
        [call("a", "f", "{\"x\":1}"), call("b", "f", "{\"x\":2}")]
    );
}

#[test]
fn b80_calls_that_all_say_index_zero_are_kept_apart() {
    // With ids of their own, and with none at all.
    let read = calls(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } }]),
        json!([{ "index": 0, "id": "b", "function": { "name": "f", "arguments": "{}" } }]),
    ]);
    assert_eq!(read, [call("a", "f", "{}"), call("b", "f", "{}")]);
    let read = calls(&[
        json!([{ "index": 0, "id": "", "function": { "name": "f", "arguments": "{\"x\":1}" } }]),
        json!([{ "index": 0, "id": "", "function": { "name": "f", "arguments": "{\"x\":2}" } }]),
        json!([{ "index": 0, "id": "", "function": { "name": "g", "arguments": "" } }]),
    ]);
    assert_eq!(read.len(), 3);
    assert_eq!((read[1].2.as_str(), read[2].1.as_str()), ("{\"x\":2}", "g"));
}

#[test]
fn b52_missing_and_repeated_ids_are_made_unique_and_stable() {
    let pieces = [
        json!([{ "index": 0, "function": { "name": "f", "arguments": "{}" } }]),
        json!([{ "index": 1, "id": "call_0", "function": { "name": "g", "arguments": "{}" } }]),
        json!([{ "index": 2, "id": "call_0", "function": { "name": "h", "arguments": "{}" } }]),
    ];
    let ids: Vec<String> = calls(&pieces).into_iter().map(|call| call.0).collect();
    assert_eq!(ids, ["call_0", "call_0_1", "call_0_2"]);
    assert_eq!(
        ids,
        calls(&pieces)
            .into_iter()
            .map(|call| call.0)
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_name_that_comes_late_or_again_is_one_name() {
    let read = calls(&[
        json!([{ "index": 0, "id": "a", "function": { "arguments": "{\"x\"" } }]),
        json!([{ "index": 0, "function": { "name": "f", "arguments": ":" } }]),
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "1}" } }]),
    ]);
    assert_eq!(read, [call("a", "f", "{\"x\":1}")]);
}

#[test]
fn arguments_that_are_an_object_are_kept_as_text() {
    let read = calls(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": { "x": [1, "é"] } } }]),
    ]);
    assert_eq!(read, [call("a", "f", "{\"x\":[1,\"é\"]}")]);
}

#[test]
fn b86_members_that_are_null_missing_or_unknown_do_no_harm() {
    let answer = read(&[
        r#"{"id":"x","obfuscation":"abc","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":null},"logprobs":null,"finish_reason":null}],"usage":null,"p":"abcd"}"#,
        r#"{"choices":[{"delta":{"content":"one"}}]}"#,
        r#"{"choices":[{"delta":{"content":" two","new":{"a":[1,{}]}},"finish_reason":"stop"}],"model":"m1"}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"prompt_tokens_details":null,"cost":0.1}}"#,
        "[DONE]",
        "",
    ])
    .unwrap();
    assert_eq!(answer.text(), "one two");
    assert_eq!(
        (answer.usage.input_tokens, answer.usage.output_tokens),
        (5, 7)
    );
    assert_eq!(
        (answer.model.as_str(), &answer.finish),
        ("m1", &FinishReason::Stop)
    );
    assert_eq!(answer.raw, None);
}

#[test]
fn a_stream_without_its_end_is_no_message() {
    let half = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    assert_eq!(read(&[half]).unwrap_err().kind(), ModelErrorKind::Decoding);
    assert_eq!(read(&[]).unwrap_err().kind(), ModelErrorKind::Decoding);
    let words = r#"{"choices":[{"index":0,"delta":{"content":"all of it"}}]}"#;
    assert!(read(&[words, "[DONE]"]).is_ok());
    // A call may be cut off, or another one may have been to come.
    assert!(read(&[half, "[DONE]"]).is_err());
    assert!(read(&["[DONE]"]).is_err());
    for reason in ["tool_calls", "function_call"] {
        let empty =
            format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        assert!(read(&[&empty, "[DONE]"]).is_err(), "{reason} without calls");
    }
    assert_eq!(
        read(&["{\"choices\":"]).unwrap_err().kind(),
        ModelErrorKind::Decoding
    );
    assert_eq!(read(&["[1]"]).unwrap_err().kind(), ModelErrorKind::Decoding);
}

#[test]
fn an_error_in_a_stream_has_the_words_of_the_provider() {
    for (chunk, kind, message) in [
        (
            json!({ "error": { "code": 429, "message": "Slow down" } }),
            ModelErrorKind::RateLimit,
            "Slow down",
        ),
        (
            json!({ "error": "it broke" }),
            ModelErrorKind::Server,
            "it broke",
        ),
        (
            json!({ "choices": [{ "delta": {}, "error": { "message": "x", "code": 502 } }] }),
            ModelErrorKind::Server,
            "x",
        ),
        (
            json!({ "error": { "message": "Too long", "code": "context_length_exceeded" } }),
            ModelErrorKind::ContextLength,
            "Too long",
        ),
    ] {
        let error = read(&[&chunk.to_string()]).unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, message));
    }
    let gave_up = json!({ "choices": [{ "delta": {}, "finish_reason": "error" }] });
    assert_eq!(
        read(&[&gave_up.to_string()]).unwrap_err().kind(),
        ModelErrorKind::Server
    );
}

/// P1: an answer is the same message, whole or in pieces.
#[test]
fn streamed_and_whole_give_the_same_message() {
    let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] });
    let whole = json!({ "model": "m", "choices": [{ "finish_reason": "tool_calls", "message": {
        "content": [thinking, { "type": "text", "text": "So: " }],
        "tool_calls": [{ "id": "abcdefghi", "function": { "name": "f", "arguments": "{\"x\":1}" } }],
    } }] });
    let pieces = [
        json!({ "model": "m", "choices": [{ "delta": { "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "h" }] }] } }] }),
        json!({ "choices": [{ "delta": { "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "m" }] }] } }] }),
        json!({ "choices": [{ "delta": { "content": "So" } }] }),
        json!({ "choices": [{ "delta": { "content": ": ", "tool_calls": [{ "index": 0, "id": "abcdefghi", "function": { "name": "f", "arguments": "{\"x\"" } }] } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": ":1}" } }] }, "finish_reason": "tool_calls" }] }),
    ];
    let protocol = ChatCompletions::new(dialect("mistral"), "mistral");
    let mut told = Vec::new();
    let whole = protocol
        .parse(whole.to_string().as_bytes(), &mut |delta| {
            told.push(format!("{delta:?}"))
        })
        .unwrap();
    let mut stream = protocol.stream();
    for piece in pieces {
        stream
            .push(piece.to_string().as_bytes(), &mut |_| {})
            .unwrap();
    }
    assert_eq!(stream.finish().unwrap(), whole);
    assert_eq!(whole.blocks[0], Block::Thinking("hm".into()));
    assert!(told.contains(&format!("{:?}", Delta::Text("So: "))));
    // What the host wants back: the array of parts.
    let raw: Value = serde_json::from_str(&whole.raw.unwrap().json).unwrap();
    assert_eq!(raw["content"][0]["thinking"][0]["text"], "hm");
    assert_eq!(raw["content"][1], json!({ "type": "text", "text": "So: " }));
}

#[test]
fn pieces_of_reasoning_details_are_joined_by_index_and_type() {
    let detail = |text: &str, signature: Value| {
        json!({ "choices": [{ "delta": { "reasoning": text, "reasoning_details": [
        { "type": "reasoning.text", "index": 0, "text": text, "signature": signature } ] } }] })
        .to_string()
    };
    let end = json!({ "choices": [{ "delta": { "reasoning_details": [{ "type": "reasoning.encrypted", "index": 1, "data": "xyz" }] }, "finish_reason": "stop" }] });
    let answer = read(&[
        &detail("a", json!(null)),
        &detail("b", json!("sig")),
        &end.to_string(),
    ])
    .unwrap();
    assert_eq!(answer.thinking(), "ab");
    let raw: Value = serde_json::from_str(&answer.raw.unwrap().json).unwrap();
    assert_eq!(
        raw,
        json!({ "reasoning_details": [
        { "type": "reasoning.text", "index": 0, "text": "ab", "signature": "sig" },
        { "type": "reasoning.encrypted", "index": 1, "data": "xyz" },
    ] })
    );
}
