//! P2, P4: the edges of streams of Responses, Messages, Gemini and Ollama.

use serde_json::{Value, json};
use tool_core::{AssistantMessage, Block, FinishReason, ModelError, ModelErrorKind};
use tool_providers::Api;

fn read(api: &Api, events: &[Value]) -> Result<AssistantMessage, ModelError> {
    let protocol = api.protocol("host");
    let mut stream = protocol.stream();
    for event in events {
        stream.push(event.to_string().as_bytes(), &mut |_| {})?;
    }
    stream.finish()
}

fn raw(message: &AssistantMessage) -> Value {
    serde_json::from_str(&message.raw.as_ref().unwrap().json).unwrap()
}

fn started() -> Value {
    json!({ "type": "message_start", "message": { "model": "m", "usage": { "input_tokens": 1, "output_tokens": 1 } } })
}

fn begins(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn goes_on(index: u64, kind: &str, key: &str, text: &str) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": { "type": kind, key: text } })
}

fn ends(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn stopped(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn anthropic_keeps_every_block_in_its_place() {
    let events = [
        vec![
            started(),
            begins(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
            goes_on(0, "thinking_delta", "thinking", "first"),
            goes_on(0, "signature_delta", "signature", "c2ln"),
            ends(0),
            begins(1, json!({ "type": "redacted_thinking", "data": "opaque" })),
            ends(1),
            begins(2, json!({ "type": "text", "text": "" })),
            goes_on(2, "text_delta", "text", "I look."),
            json!({ "type": "ping" }),
            json!({ "type": "news", "of": "the future" }),
            ends(2),
            // Two calls whose pieces interleave, and one without arguments (B80).
            begins(3, json!({ "type": "tool_use", "id": "a", "name": "one", "input": {}, "caller": { "type": "direct" } })),
            begins(4, json!({ "type": "tool_use", "id": "b", "name": "two", "input": {} })),
            goes_on(3, "input_json_delta", "partial_json", "{\"n\": 1"),
            goes_on(4, "input_json_delta", "partial_json", ""),
            goes_on(3, "input_json_delta", "partial_json", "2345678901234567890}"),
            ends(4),
            ends(3),
        ],
        stopped("tool_use").to_vec(),
    ]
    .concat();
    let answer = read(&Api::anthropic(), &events).unwrap();
    assert_eq!(answer.thinking(), "first");
    assert_eq!(answer.text(), "I look.");
    let calls: Vec<_> = answer
        .tool_calls()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("a", "{\"n\": 12345678901234567890}"), ("b", "")]);
    assert_eq!(answer.finish, FinishReason::ToolCalls);
    assert_eq!(answer.usage.output_tokens, 7);
    let json = &answer.raw.as_ref().unwrap().json;
    assert!(
        json.contains("12345678901234567890"),
        "numbers survive: {json}"
    );
    assert_eq!(
        raw(&answer),
        json!([
            { "type": "thinking", "thinking": "first", "signature": "c2ln" },
            { "type": "redacted_thinking", "data": "opaque" },
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "a", "name": "one", "input": { "n": 12_345_678_901_234_567_890_u64 }, "caller": { "type": "direct" } },
            { "type": "tool_use", "id": "b", "name": "two", "input": {} },
        ])
    );
}

#[test]
fn anthropic_says_why_it_stopped() {
    for (reason, finish) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::Interrupted),
        ("compaction", FinishReason::Other("compaction".into())),
    ] {
        let events = [vec![started()], stopped(reason).to_vec()].concat();
        assert_eq!(read(&Api::anthropic(), &events).unwrap().finish, finish);
    }
}

#[test]
fn anthropic_cut_off_in_a_call_or_in_a_thought_is_sent_back_as_it_is_accepted() {
    let events = [
        vec![
            started(),
            begins(
                0,
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
            ),
            goes_on(0, "thinking_delta", "thinking", "unsigned"),
            ends(0),
            begins(
                1,
                json!({ "type": "tool_use", "id": "a", "name": "one", "input": {} }),
            ),
            goes_on(1, "input_json_delta", "partial_json", "{\"n\": \"half"),
            ends(1),
        ],
        stopped("max_tokens").to_vec(),
    ]
    .concat();
    let answer = read(&Api::anthropic(), &events).unwrap();
    assert!(answer.is_cut_off());
    let carried = json!({ "invalid_json": "{\"n\": \"half" });
    assert_eq!(
        raw(&answer),
        json!([{ "type": "tool_use", "id": "a", "name": "one", "input": carried }])
    );
}

#[test]
fn a_stream_without_its_end_is_no_message() {
    let anthropic = [
        started(),
        begins(0, json!({ "type": "text", "text": "" })),
        goes_on(0, "text_delta", "text", "half"),
        ends(0),
        stopped("end_turn")[0].clone(),
    ];
    let item = json!({ "type": "message", "content": [{ "type": "output_text", "text": "half" }] });
    let responses = [
        json!({ "type": "response.created", "response": { "status": "in_progress" } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "half" }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
    ];
    let gemini = [json!({ "candidates": [{ "content": { "parts": [{ "text": "half" }] } }] })];
    let ollama = [json!({ "message": { "content": "half" }, "done": false })];
    for (api, events) in [
        (Api::anthropic(), &anthropic[..]),
        (Api::responses(), &responses[..]),
        (Api::Gemini, &gemini[..]),
        (Api::Ollama, &ollama[..]),
    ] {
        for length in 0..=events.len() {
            let error = read(&api, &events[..length]).unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::Decoding, "{api:?} {length}");
        }
    }
}

#[test]
fn an_error_in_a_stream_has_its_kind_and_the_words_of_the_provider() {
    let nested =
        |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "no luck" } });
    let failed = json!({ "type": "response.failed", "response": { "status": "failed", "error": { "code": "rate_limit_exceeded", "message": "no luck" } } });
    let cases = [
        (
            Api::anthropic(),
            nested("overloaded_error"),
            ModelErrorKind::Overloaded,
        ),
        (
            Api::anthropic(),
            nested("rate_limit_error"),
            ModelErrorKind::RateLimit,
        ),
        (
            Api::anthropic(),
            nested("api_error"),
            ModelErrorKind::Server,
        ),
        (
            Api::responses(),
            nested("insufficient_quota"),
            ModelErrorKind::Quota,
        ),
        (
            Api::responses(),
            json!({ "type": "error", "code": "server_error", "message": "no luck", "param": null }),
            ModelErrorKind::Server,
        ),
        (Api::responses(), failed, ModelErrorKind::RateLimit),
        (
            Api::Gemini,
            json!({ "error": { "code": 503, "message": "no luck", "status": "UNAVAILABLE" } }),
            ModelErrorKind::Server,
        ),
        (
            Api::Ollama,
            json!({ "error": "no luck" }),
            ModelErrorKind::Server,
        ),
    ];
    for (api, event, kind) in cases {
        let error = read(&api, std::slice::from_ref(&event)).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (kind, "no luck"),
            "{event}"
        );
    }
}

#[test]
fn responses_reads_items_however_they_come() {
    // Without `added`, with the arguments only at the end, with none at all, in odd order.
    let call = |index: u64, arguments: &str| json!({ "type": "function_call", "id": format!("fc_{index}"), "call_id": format!("call_{index}"), "name": "f", "arguments": arguments });
    let events = [
        json!({ "type": "response.output_item.added", "output_index": 1, "item": call(1, "") }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"a\"" }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": call(0, "{\"b\":2}") }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}", "obfuscation": "zz" }),
        json!({ "type": "response.function_call_arguments.done", "output_index": 1, "arguments": "{\"a\":1}" }),
        json!({ "type": "response.mcp_list_tools.in_progress", "output_index": 5 }),
        json!({ "type": "response.output_item.done", "output_index": 1, "item": call(1, "{\"a\":1}") }),
        json!({ "type": "response.output_item.done", "output_index": 2, "item": call(2, "") }),
        json!({ "type": "response.completed", "response": { "status": "completed", "model": "m", "output": [], "usage": null } }),
    ];
    let answer = read(&Api::responses(), &events).unwrap();
    let calls: Vec<_> = answer
        .tool_calls()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("call_1", "{\"a\":1}"),
            ("call_0", "{\"b\":2}"),
            ("call_2", "")
        ]
    );
    let ids: Vec<Value> = raw(&answer)
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["call_id"].clone())
        .collect();
    assert_eq!(
        ids,
        ["call_0", "call_1", "call_2"],
        "sent back in the order of the output"
    );
}

#[test]
fn responses_says_why_it_stopped() {
    let end = |status: &str, reason: Option<&str>| {
        let details = reason.map(|reason| json!({ "reason": reason }));
        json!({ "type": format!("response.{status}"), "response": { "status": status, "output": [], "incomplete_details": details } })
    };
    let refused = [
        json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "I will not." }),
        end("completed", None),
    ];
    let answer = read(&Api::responses(), &refused).unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.finish),
        ("I will not.", FinishReason::Stop)
    );
    for (reason, finish) in [
        ("max_output_tokens", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
    ] {
        let answer = read(&Api::responses(), &[end("incomplete", Some(reason))]).unwrap();
        assert_eq!(answer.finish, finish);
        assert!(answer.raw.is_none(), "what is not whole is not replayed");
    }
    let background = json!({ "status": "queued", "output": [] });
    let protocol = Api::responses().protocol("host");
    let error = protocol
        .parse(background.to_string().as_bytes(), &mut |_| {})
        .unwrap_err();
    assert!(error.message().contains("background"), "{error}");
}

fn chunk(parts: Value, finish: Option<&str>) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": finish, "index": 0 }], "modelVersion": "m" })
}

#[test]
fn gemini_keeps_signatures_on_their_parts_and_mints_ids() {
    let call = |name: &str| json!({ "functionCall": { "name": name, "args": { "n": 1 } } });
    let mut signed = call("a");
    signed["thoughtSignature"] = "c2ln".into();
    let events = [
        chunk(json!([{ "text": "I th", "thought": true }]), None),
        chunk(json!([{ "text": "ink", "thought": true }]), None),
        chunk(json!([{ "text": "Look" }]), None),
        chunk(json!([{ "text": "ing." }, signed, call("b")]), None),
        chunk(
            json!([{ "text": "", "thoughtSignature": "bGFzdA==" }]),
            Some("STOP"),
        ),
    ];
    let answer = read(&Api::Gemini, &events).unwrap();
    assert_eq!(
        (answer.thinking().as_str(), answer.text().as_str()),
        ("I think", "Looking.")
    );
    assert_eq!(answer.finish, FinishReason::ToolCalls);
    let ids: Vec<_> = answer
        .tool_calls()
        .map(|call| (call.id.as_str(), call.provider_state.as_deref()))
        .collect();
    assert_eq!(ids, [("call_0", None), ("call_1", None)]);
    assert_eq!(
        raw(&answer),
        json!([{ "text": "Looking." }, signed, call("b"), { "text": "", "thoughtSignature": "bGFzdA==" }])
    );
}

#[test]
fn gemini_says_why_it_stopped_or_what_it_blocked() {
    for (reason, finish) in [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        (
            "TOO_MANY_TOOL_CALLS",
            FinishReason::Other("TOO_MANY_TOOL_CALLS".into()),
        ),
    ] {
        let answer = read(
            &Api::Gemini,
            &[chunk(json!([{ "text": "x" }]), Some(reason))],
        )
        .unwrap();
        assert_eq!(answer.finish, finish);
    }
    let error = read(
        &Api::Gemini,
        &[chunk(json!([]), Some("MALFORMED_FUNCTION_CALL"))],
    )
    .unwrap_err();
    assert!(error.kind().is_retryable(), "{error}");
    let error = read(
        &Api::Gemini,
        &[json!({ "promptFeedback": { "blockReason": "SAFETY" } })],
    )
    .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::BadRequest);
    assert!(error.message().contains("SAFETY"));
}

#[test]
fn null_and_absent_members_and_other_types_are_no_surprise() {
    let anthropic = [
        vec![
            json!({ "type": "message_start", "message": { "model": null, "content": null, "usage": null } }),
            begins(0, json!({ "type": "text", "text": null, "citations": null })),
            goes_on(0, "text_delta", "text", "x"),
            json!({ "type": "content_block_delta", "index": 0, "delta": null }),
            ends(0),
        ],
        stopped("end_turn").to_vec(),
    ]
    .concat();
    let responses = [
        json!({ "type": "response.output_text.delta", "output_index": null, "delta": "x", "logprobs": [] }),
        json!({ "type": "response.completed", "response": { "status": "completed", "error": null, "usage": { "input_tokens": null, "input_tokens_details": null } } }),
    ];
    let gemini = [
        json!({ "candidates": [{ "content": { "parts": [{ "text": "x", "thought": false }] }, "finishReason": "STOP", "index": null, "citationMetadata": {} }], "usageMetadata": null, "error": null, "promptFeedback": null }),
    ];
    let ollama = [
        json!({ "message": { "content": "x", "tool_calls": null, "thinking": null }, "done": true, "done_reason": null, "error": null }),
    ];
    for (api, events) in [
        (Api::anthropic(), &anthropic[..]),
        (Api::responses(), &responses[..]),
        (Api::Gemini, &gemini[..]),
        (Api::Ollama, &ollama[..]),
    ] {
        let answer = read(&api, events).unwrap_or_else(|error| panic!("{api:?}: {error}"));
        assert_eq!(answer.blocks, [Block::Text("x".into())], "{api:?}");
        assert_eq!(answer.finish, FinishReason::Stop, "{api:?}");
    }
}
