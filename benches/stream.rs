//! `cargo bench --bench stream`: a stream of arguments or words in deltas of 20 bytes is assembled in time
//! linear in its length, at little more than the cost of parsing its events, for every protocol.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tool_providers::Api;
use tool_providers::protocol::Framing;
use tool_providers::sse::Decoder;

/// How the bytes arrive.
const PIECE: usize = 16 * 1024;

/// What comes in each delta.
const TEXT: &str = "let answer = find(x)";

/// How a protocol streams an answer: what comes before the deltas, a delta, and what comes after.
struct Form {
    name: &'static str,
    api: Api,
    start: &'static [&'static str],
    delta: &'static str,
    /// `{all}` stands for all that was streamed.
    end: &'static [&'static str],
}

fn forms() -> [Form; 5] {
    [
        Form {
            name: "chat_completions",
            api: Api::chat_completions(),
            start: &[
                r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"text\":\""}}]},"logprobs":null,"finish_reason":null}]}"#,
            ],
            delta: r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{text}"}}]},"logprobs":null,"finish_reason":null}]}"#,
            end: &[
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]},"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ],
        },
        Form {
            name: "responses",
            api: Api::responses(),
            start: &[
                r#"{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_1","name":"f","arguments":""}}"#,
                r#"{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_1","output_index":0,"delta":"{\"text\":\""}"#,
            ],
            delta: r#"{"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_1","output_index":0,"delta":"{text}","obfuscation":"x1y2"}"#,
            end: &[
                r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"\"}"}"#,
                r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"text\":\"{all}\"}"}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{\"text\":\"{all}\"}"}}"#,
                r#"{"type":"response.completed","response":{"status":"completed","model":"m","output":[{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{\"text\":\"{all}\"}"}]}}"#,
            ],
        },
        Form {
            name: "anthropic",
            api: Api::anthropic(),
            start: &[
                r#"{"type":"message_start","message":{"model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\""}}"#,
            ],
            delta: r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{text}"}}"#,
            end: &[
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"}"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        },
        Form {
            name: "gemini",
            api: Api::Gemini,
            start: &[],
            delta: r#"{"candidates":[{"content":{"parts":[{"text":"{text}"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15},"modelVersion":"m","responseId":"r1"}"#,
            end: &[
                r#"{"candidates":[{"content":{"parts":[{"text":"."}],"role":"model"},"finishReason":"STOP","index":0}]}"#,
            ],
        },
        Form {
            name: "ollama",
            api: Api::Ollama,
            start: &[],
            delta: r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"{text}"},"done":false}"#,
            end: &[
                r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#,
            ],
        },
    ]
}

impl Form {
    fn framing(&self) -> Framing {
        self.api.protocol("bench").framing()
    }

    /// A stream of so many bytes.
    fn stream(&self, bytes: usize) -> Vec<u8> {
        let lines = self.framing() == Framing::Lines;
        let mut stream = String::new();
        let mut add = |event: &str| match lines {
            true => stream.extend([event, "\n"]),
            false => stream.extend(["data: ", event, "\n\n"]),
        };
        self.start.iter().for_each(|event| add(event));
        let delta = self.delta.replace("{text}", TEXT);
        let count = bytes / TEXT.len();
        (0..count).for_each(|_| add(&delta));
        let all = TEXT.repeat(count);
        self.end
            .iter()
            .for_each(|event| add(&event.replace("{all}", &all)));
        stream.into_bytes()
    }

    fn assemble(&self, stream: &[u8]) {
        let protocol = self.api.protocol("bench");
        let mut answer = protocol.stream();
        self.events(stream, |data| {
            let read = answer.push(data, &mut |delta| {
                black_box(delta);
            });
            assert!(read.is_ok());
        });
        assert!(
            answer
                .finish()
                .is_ok_and(|answer| !answer.blocks.is_empty())
        );
    }

    /// Parses every event as `T` and throws it away.
    fn parse<T: for<'de> Deserialize<'de>>(&self, stream: &[u8]) {
        self.events(stream, |data| {
            let _ = black_box(serde_json::from_slice::<T>(data));
        });
    }

    fn events(&self, stream: &[u8], mut take: impl FnMut(&[u8])) {
        if self.framing() == Framing::Lines {
            return stream.split(|byte| *byte == b'\n').for_each(take);
        }
        let mut decoder = Decoder::new();
        for piece in stream.chunks(PIECE) {
            let Ok(()) = decoder.push(piece, |event| {
                take(event.data);
                Ok::<_, Infallible>(())
            });
        }
    }
}

/// The best of several runs.
fn time(run: impl Fn()) -> Duration {
    let once = || {
        let started = Instant::now();
        run();
        started.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap_or_default()
}

fn main() {
    println!(
        "10 MB in deltas of {} bytes            to 1 MB   to parsing   to skipping",
        TEXT.len()
    );
    for form in forms() {
        let (short, long) = (form.stream(1_000_000), form.stream(10_000_000));
        let ours = [
            time(|| form.assemble(&short)),
            time(|| form.assemble(&long)),
        ];
        let value = time(|| form.parse::<Value>(&long));
        let skipped = time(|| form.parse::<IgnoredAny>(&long));
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!(
            "{:<18} {:>14.1?} {:>12.2} {:>12.2} {:>13.2}",
            form.name,
            ours[1],
            ratio(ours[1], ours[0]),
            ratio(ours[1], value),
            ratio(ours[1], skipped),
        );
    }
}
