//! How often the embedded model finds the right call, of twenty questions. Run by hand:
//! `cargo test --test embedded_hits -- --ignored --nocapture`.

use std::time::Instant;

use serde_json::{Value, json};
use tool_providers::embedded::{CompactTool, Embedded, Question};

fn tool(name: &str, description: &str, parameters: &[(&str, &str, &str)]) -> CompactTool {
    let properties = parameters.iter().map(|(name, kind, description)| {
        let name = name.trim_end_matches('?').to_owned();
        (name, json!({"type": kind, "description": description}))
    });
    let properties: serde_json::Map<_, _> = properties.collect();
    let required = parameters.iter().map(|(name, ..)| *name);
    let required: Vec<_> = required.filter(|name| !name.ends_with('?')).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    CompactTool::new(name, description, &schema)
}

fn tools() -> Vec<CompactTool> {
    let expression = "The full expression copied word for word, e.g. '12 * (7 + 3)' or '15% of 80'";
    vec![
        tool(
            "get_time",
            "Get the current date and time, in a city.",
            &[("city?", "string", "City name; include only when stated")],
        ),
        tool(
            "convert_unit",
            "Convert an amount between units of temperature, length, mass, volume or speed.",
            &[
                ("amount", "number", "The number to convert"),
                ("from", "string", "Unit of the amount, such as miles"),
                ("to", "string", "Unit wanted, such as kilometers"),
            ],
        ),
        tool(
            "calculate",
            "Calculate the result of an arithmetic expression.",
            &[("expression", "string", expression)],
        ),
        tool(
            "list_files",
            "List the files in a folder.",
            &[("folder", "string", "Path of the folder")],
        ),
        tool(
            "read_file",
            "Read the text of a file.",
            &[("path", "string", "Path of the file")],
        ),
        tool(
            "count_words",
            "Count the words in a file.",
            &[("path", "string", "Path of the file")],
        ),
        tool(
            "days_between",
            "Count the days between two dates.",
            &[
                ("start", "string", "The first date, YYYY-MM-DD"),
                ("end", "string", "The second date, YYYY-MM-DD"),
            ],
        ),
    ]
}

fn questions() -> Vec<(&'static str, Value)> {
    let convert = |amount: Value, from: &str, to: &str| json!([["convert_unit", {"amount": amount, "from": from, "to": to}]]);
    let one = |tool: &str, name: &str, value: &str| json!([[tool, {name: value}]]);
    vec![
        (
            "What is 17.5 degrees Celsius in Fahrenheit?",
            convert(json!(17.5), "celsius", "fahrenheit"),
        ),
        (
            "How many kilometers are 26.2 miles?",
            convert(json!(26.2), "miles", "km"),
        ),
        (
            "Convert 180 pounds to kilograms",
            convert(json!(180), "pounds", "kilograms"),
        ),
        (
            "Convert 5 gallons to liters",
            convert(json!(5), "gallons", "liters"),
        ),
        (
            "How fast is 100 kilometers per hour in miles per hour?",
            convert(json!(100), "kilometers per hour", "miles per hour"),
        ),
        (
            "What time is it in Tokyo?",
            one("get_time", "city", "Tokyo"),
        ),
        (
            "What time is it in New York right now?",
            one("get_time", "city", "New York"),
        ),
        ("What is the date today?", json!([["get_time", {}]])),
        (
            "What is 12 * (3 + 4.5)?",
            one("calculate", "expression", "12 * (3 + 4.5)"),
        ),
        (
            "What is 15% of 240?",
            one("calculate", "expression", "15% of 240"),
        ),
        (
            "Calculate 128 * 46",
            one("calculate", "expression", "128 * 46"),
        ),
        ("List the files in src", one("list_files", "folder", "src")),
        (
            "Which files are in the tests folder?",
            one("list_files", "folder", "tests"),
        ),
        (
            "Show me the contents of README.md",
            one("read_file", "path", "README.md"),
        ),
        ("Read Cargo.toml", one("read_file", "path", "Cargo.toml")),
        (
            "How many words are in README.md?",
            one("count_words", "path", "README.md"),
        ),
        (
            "Read notes.txt and count the words in it",
            json!([["read_file", {"path": "notes.txt"}], ["count_words", {"path": "notes.txt"}]]),
        ),
        (
            "How many days are there between 2026-03-01 and 2026-12-25?",
            json!([["days_between", {"start": "2026-03-01", "end": "2026-12-25"}]]),
        ),
        ("Who won the world cup in 1998?", json!([])),
        ("Write me a poem about the sea", json!([])),
    ]
}

#[test]
#[ignore = "takes minutes; a measurement, not a promise"]
fn hits() {
    let began = Instant::now();
    let engine = Embedded::new().load().unwrap();
    println!("loaded in {:.2?}", began.elapsed());
    let (tools, questions) = (tools(), questions());
    let mut hits = 0;
    for (text, wanted) in &questions {
        let began = Instant::now();
        let answer = engine
            .calls(
                &Question {
                    text,
                    system: None,
                    calls: 0..=8,
                },
                &tools,
            )
            .unwrap();
        let calls = answer.calls.iter().map(|call| {
            let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap();
            json!([call.name, arguments])
        });
        let called: Value = calls.collect();
        let made = if answer.is_confident() {
            called.clone()
        } else {
            json!([])
        };
        let hit =
            made == *wanted || made.to_string().to_lowercase() == wanted.to_string().to_lowercase();
        hits += usize::from(hit);
        println!(
            "{} {:.1?} confidence {:.2} tokens {}+{} | {text} -> {called}",
            if hit { "hit " } else { "MISS" },
            began.elapsed(),
            answer.confidence.unwrap_or(1.0),
            answer.input_tokens,
            answer.output_tokens,
        );
    }
    println!("{hits} of {}", questions.len());
}
