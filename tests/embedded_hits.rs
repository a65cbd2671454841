//! How often the embedded model finds the right call; run by hand:
//! `cargo test --test embedded_hits -- --ignored --nocapture`.

use std::time::Instant;

use serde_json::{Value, json};
use tool_providers::embedded::{CompactTool, Engine, Question, Weights};

fn tools() -> Vec<CompactTool> {
    let file = std::env::var("HIT_TOOLS").unwrap_or("/tmp/hits/tools.json".into());
    let tools: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    tools
        .iter()
        .map(|t| {
            CompactTool::new(
                t["name"].as_str().unwrap(),
                t["description"].as_str().unwrap(),
                &t["parameters"],
            )
        })
        .collect()
}

#[test]
#[ignore]
fn hits() {
    let file = std::env::var("HIT_QUESTIONS").unwrap_or("/tmp/hits/questions.json".into());
    let cases: Vec<(String, Value)> =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let began = Instant::now();
    let engine = Engine::load(&Weights::from_env()).unwrap();
    println!("loaded in {:?}", began.elapsed());
    let tools = tools();
    let mut hits = 0;
    let system = std::env::var("HIT_SYSTEM").ok();
    for (question, want) in &cases {
        let began = Instant::now();
        let at_least = usize::from(std::env::var("HIT_FORCE").is_ok());
        let answer = engine
            .calls(
                &Question {
                    text: question,
                    system: system.as_deref(),
                    calls: at_least..=8,
                },
                &tools,
            )
            .unwrap();
        let got: Vec<Value> = answer.calls.iter().map(|c| json!({"name": c.name, "arguments": serde_json::from_str::<Value>(c.arguments.get()).unwrap()})).collect();
        let got: Value = got
            .iter()
            .map(|c| json!([c["name"], c["arguments"]]))
            .collect();
        let hit = got == *want;
        hits += usize::from(hit);
        println!(
            "{} {:?} {:.2} in {} out {} | {question} -> {got}{} | {}",
            if hit { "HIT " } else { "MISS" },
            began.elapsed(),
            answer.confidence.unwrap_or(-1.0),
            answer.input_tokens,
            answer.output_tokens,
            if hit {
                String::new()
            } else {
                format!(" WANT {want}")
            },
            answer.thought
        );
    }
    println!("{hits} of {}", cases.len());
}
