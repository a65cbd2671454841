//! `cargo bench --bench stream`: a stream of arguments in deltas of 20 bytes is assembled in time
//! linear in its length, at little more than the cost of parsing its chunks.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tool_providers::protocol::Protocol;
use tool_providers::protocol::chat_completions::{ChatCompletions, Dialect};
use tool_providers::sse::Decoder;

/// How the bytes arrive.
const PIECE: usize = 16 * 1024;

/// A stream whose arguments have so many bytes.
fn stream(bytes: usize) -> Vec<u8> {
    let chunk = |call: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}},\
             \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
    };
    let piece = |text: &str| {
        chunk(&format!(
            "{{\"index\":0,\"function\":{{\"arguments\":\"{text}\"}}}}"
        ))
    };
    let mut stream = chunk(
        "{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"text\\\":\\\"\"}}",
    );
    let delta = piece("let answer = find(x)");
    for _ in 0..bytes / 20 {
        stream.push_str(&delta);
    }
    stream.push_str(&piece("\\\"}"));
    stream.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
    stream.into_bytes()
}

fn assemble(stream: &[u8]) {
    let protocol = ChatCompletions::new(Dialect::STANDARD, "bench");
    let mut decoder = Decoder::new();
    let mut answer = protocol.stream();
    for piece in stream.chunks(PIECE) {
        let read = decoder.push(piece, |event| {
            answer.push(event.data, &mut |delta| {
                black_box(delta);
            })
        });
        assert!(read.is_ok());
    }
    assert!(
        answer
            .finish()
            .is_ok_and(|answer| answer.tool_calls().count() == 1)
    );
}

/// Parses every chunk as `T` and throws it away.
fn parse<T: for<'de> Deserialize<'de>>(stream: &[u8]) {
    let mut decoder = Decoder::new();
    for piece in stream.chunks(PIECE) {
        let Ok(()) = decoder.push(piece, |event| {
            let _ = black_box(serde_json::from_slice::<T>(event.data));
            Ok::<_, Infallible>(())
        });
    }
}

/// The best of several runs.
fn time(run: impl Fn()) -> Duration {
    let once = || {
        let started = Instant::now();
        run();
        started.elapsed()
    };
    (0..7).map(|_| once()).min().unwrap_or_default()
}

fn main() {
    let (short, long) = (stream(1_000_000), stream(10_000_000));
    let ours = [time(|| assemble(&short)), time(|| assemble(&long))];
    let value = time(|| parse::<Value>(&long));
    let skipped = time(|| parse::<IgnoredAny>(&long));
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!("1 MB of arguments:                        {:?}", ours[0]);
    println!("10 MB of arguments:                       {:?}", ours[1]);
    println!(
        "10 MB to 1 MB (10 is linear):             {:.2}",
        ratio(ours[1], ours[0])
    );
    println!(
        "to serde_json parsing the chunks:         {:.2}",
        ratio(ours[1], value)
    );
    println!(
        "to serde_json skipping over the chunks:   {:.2}",
        ratio(ours[1], skipped)
    );
}
