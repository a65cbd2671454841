//! `cargo bench --bench rounds`: what it costs to render a request with one more round, by how many rounds
//! were rendered before, for every protocol. It is the new round and one copy of the rest.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_core::model::Request;
use tool_core::{
    AssistantMessage, Block, FunctionTool, Message, RequestOptions, Tool, ToolCall, ToolChoice,
    ToolError, ToolSet, Transcript,
};
use tool_providers::Api;

/// The rounds that are there already.
const ROUNDS: [usize; 4] = [10, 50, 200, 800];

/// The characters of a result.
const RESULT: usize = 2_000;

fn round(transcript: &mut Transcript, number: usize) {
    let id = format!("call_{number}");
    let call = ToolCall::new(&*id, "look", json!({ "at": number }));
    transcript.push(Message::Assistant(AssistantMessage {
        blocks: vec![Block::Text("I look.".into()), Block::ToolCall(call)],
        ..AssistantMessage::default()
    }));
    let result = json!({ "role": "tool", "call_id": id, "name": "look", "outcome": "ok", "text": "x".repeat(RESULT) });
    if let Ok(result) = serde_json::from_value(result) {
        transcript.push(result);
    }
}

fn tools() -> ToolSet {
    let schema = json!({ "type": "object", "properties": { "at": { "type": "integer" } } });
    let run = async |_: Value| Ok::<_, ToolError>("");
    let tool = FunctionTool::new("look", "Looks.", schema, run);
    ToolSet::from_tools(tool.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>))
}

/// The time to render one more round, and to copy the whole body, each the best of many.
fn measure(api: &Api, rounds: usize) -> (Duration, Duration) {
    let protocol = api.protocol("bench");
    let (tools, choice, options) = (tools(), ToolChoice::Auto, RequestOptions::new());
    let mut transcript = Transcript::new();
    transcript.push(Message::User("go".into()));
    for number in 0..rounds {
        round(&mut transcript, number);
    }
    let render = |transcript: &Transcript| {
        let request = Request::new(transcript, &tools, &choice, &options);
        protocol.render("m", &request).unwrap_or_default()
    };
    let mut length: usize = render(&transcript).iter().map(|piece| piece.len()).sum();
    let mut best = Duration::MAX;
    for number in 0..40 {
        round(&mut transcript, rounds + number);
        let started = Instant::now();
        let pieces = black_box(render(&transcript));
        best = best.min(started.elapsed());
        length = pieces.iter().map(|piece| piece.len()).sum();
    }
    let body = vec![b'x'; length];
    let copy = (0..40).map(|_| {
        let started = Instant::now();
        black_box(body.clone());
        started.elapsed()
    });
    (best, copy.min().unwrap_or_default())
}

fn main() {
    let apis = [
        ("chat_completions", Api::chat_completions()),
        ("responses", Api::responses()),
        ("anthropic", Api::anthropic()),
        ("gemini", Api::Gemini),
        ("ollama", Api::Ollama),
    ];
    println!("one more round, after so many (and one copy of the body)");
    for (name, api) in apis {
        print!("{name:<18}");
        for rounds in ROUNDS {
            let (render, copy) = measure(&api, rounds);
            print!("  {rounds:>4}: {render:>9.1?} ({copy:>8.1?})");
        }
        println!();
    }
}
