//! How often the embedded model finds the right call, of twenty questions. It takes minutes:
//! `cargo bench --bench embedded_hits`.

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

/// The questions that the wording of the tools was tuned on: what the model does at its best.
fn tuned() -> Vec<(&'static str, Value)> {
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

/// Questions written down before the model saw them, and not exchanged afterwards.
fn unseen() -> Vec<(&'static str, Value)> {
    let convert = |amount: Value, from: &str, to: &str| json!([["convert_unit", {"amount": amount, "from": from, "to": to}]]);
    let one = |tool: &str, name: &str, value: &str| json!([[tool, {name: value}]]);
    let days = |start: &str, end: &str| json!([["days_between", {"start": start, "end": end}]]);
    vec![
        (
            "Convert 98.6 Fahrenheit to Celsius",
            convert(json!(98.6), "fahrenheit", "celsius"),
        ),
        (
            "How many feet are in 3 meters?",
            convert(json!(3), "meters", "feet"),
        ),
        (
            "What is 250 grams in ounces?",
            convert(json!(250), "grams", "ounces"),
        ),
        (
            "How many liters is 5 gallons?",
            convert(json!(5), "gallons", "liters"),
        ),
        (
            "I ran 10 km, how many miles is that?",
            convert(json!(10), "km", "miles"),
        ),
        (
            "What's the time in London?",
            one("get_time", "city", "London"),
        ),
        (
            "Tell me the current time in Sydney",
            one("get_time", "city", "Sydney"),
        ),
        ("What day is it?", json!([["get_time", {}]])),
        (
            "Calculate 2^10 - 24",
            one("calculate", "expression", "2^10 - 24"),
        ),
        (
            "What is (18 + 6) / 4?",
            one("calculate", "expression", "(18 + 6) / 4"),
        ),
        (
            "What is 20% of 85?",
            one("calculate", "expression", "20% of 85"),
        ),
        (
            "What is 7.5 * 12 + 3?",
            one("calculate", "expression", "7.5 * 12 + 3"),
        ),
        (
            "What files are in the examples folder?",
            one("list_files", "folder", "examples"),
        ),
        (
            "List everything in docs/images",
            one("list_files", "folder", "docs/images"),
        ),
        (
            "Open LICENSE-MIT and show it to me",
            one("read_file", "path", "LICENSE-MIT"),
        ),
        (
            "What does config.json say?",
            one("read_file", "path", "config.json"),
        ),
        (
            "Count the words in CHANGELOG.md",
            one("count_words", "path", "CHANGELOG.md"),
        ),
        (
            "How many days from 2025-01-01 to 2025-07-04?",
            days("2025-01-01", "2025-07-04"),
        ),
        ("Send an email to my boss", json!([])),
        ("What is the capital of France?", json!([])),
    ]
}

/// A call in one spelling: lower case, units by their long plural, no space in an expression.
fn spelled(calls: &Value) -> String {
    let text = calls.to_string().to_lowercase().replace(' ', "");
    let units = [
        ("km", "kilometers"),
        ("kilometer", "kilometers"),
        ("mile", "miles"),
        ("meter", "meters"),
        ("foot", "feet"),
        ("gram", "grams"),
        ("ounce", "ounces"),
        ("gallon", "gallons"),
        ("liter", "liters"),
    ];
    units.iter().fold(text, |text, (unit, long)| {
        text.replace(&format!("\"{unit}\""), &format!("\"{long}\""))
    })
}

fn main() {
    let began = Instant::now();
    let engine = Embedded::new().load().unwrap();
    println!("loaded in {:.2?}", began.elapsed());
    let tools = tools();
    for (set, questions) in [("tuned", tuned()), ("unseen", unseen())] {
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
            let hit = spelled(&made) == spelled(wanted);
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
        println!("{set}: {hits} of {}", questions.len());
    }
}
