//! P1, P2: a streamed answer and a plain one give the same message, whatever is in it and wherever the
//! stream is cut, for Responses, Messages, Gemini and Ollama.

use proptest::prelude::*;
use serde_json::{Value, json};
use tool_core::{AssistantMessage, Block};
use tool_providers::Api;
use tool_providers::protocol::Framing;
use tool_providers::protocol::responses::Dialect;
use tool_providers::sse::Decoder;

/// What a model says, in order.
#[derive(Clone, Debug)]
enum Said {
    Text(Vec<String>),
    Thinking(Vec<String>),
    Call(String, Value),
}

fn words() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        "[a-z ]{1,12}",
        Just("é\u{1F600}\"\\\n\t".to_owned()),
        Just("data: x\n\ndata: [DONE]".to_owned()),
        "\\PC{1,6}",
    ];
    proptest::collection::vec(piece, 1..5)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let arguments = proptest::collection::btree_map("[a-z]{1,4}", value(), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()));
    let one = prop_oneof![
        words().prop_map(Said::Text),
        words().prop_map(Said::Thinking),
        ("[a-z_]{1,8}", arguments).prop_map(|(name, arguments)| Said::Call(name, arguments)),
    ];
    proptest::collection::vec(one, 1..6)
}

/// An answer, whole and in events.
struct Forms {
    whole: Value,
    events: Vec<Value>,
}

fn cut(text: &str, cuts: &[usize]) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for cut in cuts {
        let at = rest
            .char_indices()
            .nth(*cut)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(at);
        pieces.push(piece.to_owned());
        rest = more;
    }
    pieces.push(rest.to_owned());
    pieces
}

fn anthropic(said: &[Said], cuts: &[usize]) -> Forms {
    let start = json!({ "model": "m", "content": [], "usage": { "input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 1 } });
    let mut events = vec![
        json!({ "type": "message_start", "message": start }),
        json!({ "type": "ping" }),
    ];
    let mut content = Vec::new();
    for (index, one) in said.iter().enumerate() {
        let mut begin = |block: Value| {
            events.push(
                json!({ "type": "content_block_start", "index": index, "content_block": block }),
            );
        };
        let deltas: Vec<Value> = match one {
            Said::Text(pieces) => {
                begin(json!({ "type": "text", "text": "" }));
                content.push(json!({ "type": "text", "text": pieces.concat() }));
                pieces
                    .iter()
                    .map(|text| json!({ "type": "text_delta", "text": text }))
                    .collect()
            }
            Said::Thinking(pieces) => {
                begin(json!({ "type": "thinking", "thinking": "", "signature": "" }));
                content.push(
                    json!({ "type": "thinking", "thinking": pieces.concat(), "signature": "s1s2" }),
                );
                let deltas = pieces
                    .iter()
                    .map(|text| json!({ "type": "thinking_delta", "thinking": text }));
                let signed = ["s1", "s2"]
                    .map(|text| json!({ "type": "signature_delta", "signature": text }));
                deltas.chain(signed).collect()
            }
            Said::Call(name, arguments) => {
                let id = format!("toolu_{index}");
                begin(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
                content.push(
                    json!({ "type": "tool_use", "id": id, "name": name, "input": arguments }),
                );
                let pieces = cut(&arguments.to_string(), cuts);
                pieces
                    .iter()
                    .map(|text| json!({ "type": "input_json_delta", "partial_json": text }))
                    .collect()
            }
        };
        events.extend(
            deltas.iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 9 });
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    Forms {
        whole: json!({ "model": "m", "content": content, "stop_reason": "end_turn", "usage": usage }),
        events,
    }
}

fn responses(said: &[Said], cuts: &[usize]) -> Forms {
    let mut events = vec![
        json!({ "type": "response.created", "response": { "status": "in_progress", "model": "m" } }),
    ];
    let mut output = Vec::new();
    for (index, one) in said.iter().enumerate() {
        let (item, begun, kind, pieces) = match one {
            Said::Text(pieces) => {
                let part =
                    json!({ "type": "output_text", "text": pieces.concat(), "annotations": [] });
                let item = json!({ "type": "message", "id": format!("msg_{index}"), "role": "assistant", "content": [part] });
                (
                    item,
                    json!({ "type": "message", "content": [] }),
                    "response.output_text.delta",
                    pieces.clone(),
                )
            }
            Said::Thinking(pieces) => {
                let part = json!({ "type": "summary_text", "text": pieces.concat() });
                let item = json!({ "type": "reasoning", "id": format!("rs_{index}"), "summary": [part], "encrypted_content": "g" });
                (
                    item,
                    json!({ "type": "reasoning", "summary": [] }),
                    "response.reasoning_summary_text.delta",
                    pieces.clone(),
                )
            }
            Said::Call(name, arguments) => {
                let text = arguments.to_string();
                let item = json!({ "type": "function_call", "id": format!("fc_{index}"), "call_id": format!("call_{index}"), "name": name, "arguments": text });
                let mut begun = item.clone();
                begun["arguments"] = "".into();
                (
                    item,
                    begun,
                    "response.function_call_arguments.delta",
                    cut(&text, cuts),
                )
            }
        };
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        );
        events.extend(
            pieces
                .iter()
                .map(|delta| json!({ "type": kind, "output_index": index, "delta": delta })),
        );
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
        output.push(item);
    }
    let usage = json!({ "input_tokens": 5, "output_tokens": 9, "output_tokens_details": { "reasoning_tokens": 4 } });
    let whole = json!({ "status": "completed", "model": "m", "output": output, "usage": usage, "error": null });
    events.push(json!({ "type": "response.completed", "response": whole }));
    Forms { whole, events }
}

fn gemini(said: &[Said], _: &[usize]) -> Forms {
    let chunk = |part: Value| json!({ "candidates": [{ "content": { "parts": [part], "role": "model" }, "index": 0 }], "modelVersion": "m" });
    let (mut events, mut parts) = (Vec::new(), Vec::new());
    for (index, one) in said.iter().enumerate() {
        match one {
            Said::Text(pieces) => {
                parts.push(json!({ "text": pieces.concat() }));
                events.extend(pieces.iter().map(|text| chunk(json!({ "text": text }))));
            }
            Said::Thinking(pieces) => {
                parts.push(json!({ "text": pieces.concat(), "thought": true }));
                events.extend(
                    pieces
                        .iter()
                        .map(|text| chunk(json!({ "text": text, "thought": true }))),
                );
            }
            Said::Call(name, arguments) => {
                let part = json!({ "functionCall": { "name": name, "args": arguments, "id": format!("fc{index}") }, "thoughtSignature": "sig" });
                parts.push(part.clone());
                events.push(chunk(part));
            }
        }
    }
    let usage =
        json!({ "promptTokenCount": 5, "candidatesTokenCount": 6, "thoughtsTokenCount": 3 });
    let last = json!({ "candidates": [{ "content": { "parts": [], "role": "model" }, "finishReason": "STOP" }], "usageMetadata": usage });
    events.push(last);
    Forms {
        whole: json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }], "usageMetadata": usage, "modelVersion": "m" }),
        events,
    }
}

fn ollama(said: &[Said], _: &[usize]) -> Forms {
    let line = |message: Value| json!({ "model": "m", "message": message, "done": false });
    let (mut events, mut text, mut thinking, mut calls) =
        (Vec::new(), String::new(), String::new(), Vec::new());
    // Here the order of the parts is not kept: thoughts, then words, then calls.
    for pass in 0..3 {
        for (index, one) in said.iter().enumerate() {
            match (pass, one) {
                (0, Said::Thinking(pieces)) => {
                    thinking.push_str(&pieces.concat());
                    events.extend(
                        pieces
                            .iter()
                            .map(|piece| line(json!({ "content": "", "thinking": piece }))),
                    );
                }
                (1, Said::Text(pieces)) => {
                    text.push_str(&pieces.concat());
                    events.extend(pieces.iter().map(|piece| line(json!({ "content": piece }))));
                }
                (2, Said::Call(name, arguments)) => {
                    let call = json!({ "id": format!("call_{index}"), "function": { "name": name, "arguments": arguments } });
                    calls.push(call.clone());
                    events.push(line(json!({ "content": "", "tool_calls": [call] })));
                }
                _ => {}
            }
        }
    }
    let end = |message: Value| json!({ "model": "m", "message": message, "done": true, "done_reason": "stop", "prompt_eval_count": 4, "eval_count": 5 });
    events.push(end(json!({ "content": "" })));
    Forms {
        whole: end(json!({ "content": text, "thinking": thinking, "tool_calls": calls })),
        events,
    }
}

fn bytes(framing: Framing, events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| match framing {
        Framing::Lines => format!("{event}\n"),
        _ => format!("data: {event}\n\n"),
    };
    events.iter().map(event).collect::<String>().into_bytes()
}

fn read(api: &Api, stream: &[u8], cuts: &[usize]) -> AssistantMessage {
    let protocol = api.protocol("host");
    let mut reader = protocol.stream();
    if protocol.framing() == Framing::Lines {
        for line in stream.split(|byte| *byte == b'\n') {
            reader.push(line, &mut |_| {}).unwrap();
        }
        return reader.finish().unwrap();
    }
    let mut decoder = Decoder::new();
    let mut rest = stream;
    for cut in cuts {
        let (piece, more) = rest.split_at((*cut * 7).min(rest.len()));
        rest = more;
        decoder
            .push(piece, |event| reader.push(event.data, &mut |_| {}))
            .unwrap();
    }
    decoder
        .push(rest, |event| reader.push(event.data, &mut |_| {}))
        .unwrap();
    reader.finish().unwrap()
}

/// The calls by what their arguments mean, and everything else.
fn view(message: &AssistantMessage) -> Value {
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text(text) => json!({ "text": text }),
        Block::Thinking(text) => json!({ "thinking": text }),
        Block::ToolCall(call) => {
            let arguments: Value = call.arguments.parse().unwrap();
            json!({ "id": call.id, "name": call.name, "arguments": arguments, "state": call.provider_state })
        }
        _ => Value::Null,
    });
    let blocks: Vec<Value> = blocks.collect();
    json!({ "blocks": blocks, "finish": message.finish, "usage": message.usage, "model": message.model })
}

fn check(api: &Api, forms: &Forms, cuts: &[usize]) {
    let protocol = api.protocol("host");
    let whole = forms.whole.to_string();
    let plain = protocol.parse(whole.as_bytes(), &mut |_| {}).unwrap();
    let streamed = read(api, &bytes(protocol.framing(), &forms.events), cuts);
    assert_eq!(view(&streamed), view(&plain));
    // What is sent back means the same, too.
    let raw = |message: &AssistantMessage| -> Option<Value> {
        let raw = message.raw.as_ref()?;
        Some(serde_json::from_str(&raw.json).unwrap())
    };
    if !matches!(api, Api::Gemini) {
        assert_eq!(raw(&streamed), raw(&plain));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_forms_give_the_same_message(
        said in said(),
        cuts in proptest::collection::vec(0_usize..30, 0..6),
    ) {
        check(&Api::anthropic(), &anthropic(&said, &cuts), &cuts);
        check(&Api::Responses(Dialect::OPENAI), &responses(&said, &cuts), &cuts);
        check(&Api::Gemini, &gemini(&said, &cuts), &cuts);
        check(&Api::Ollama, &ollama(&said, &cuts), &cuts);
    }
}
