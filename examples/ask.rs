//! cargo run --example ask
//!
//! A tool that asks the user while it runs. An empty line declines.
use std::io::{BufRead, Write, stdin, stdout};

use serde_json::json;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, ToolCall, ToolError, Turn, tool, tools};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Party {
    /// How many guests.
    guests: u32,
}

/// Books a table.
#[tool]
async fn book_table(day: String, tool_call: &ToolCall) -> Result<String, ToolError> {
    let party = tool_call
        .ask_for::<Party>(format!("How many of you come on {day}?"))
        .await?;
    Ok(match party.into_value() {
        Some(party) => format!("A table for {} is booked on {day}.", party.guests),
        None => "Nothing is booked.".into(),
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new()
        .call("book_table", json!({ "day": "Friday" }))
        .text("Done.");
    let mut chat = Chat::new(model)
        .with_tools(tools![BookTable])
        .after_tool_result(|result| println!("{}", result.text));
    let mut turn = chat.ask("A table for Friday, please").await?;
    while let Turn::Paused(pause) = &turn {
        for request in &pause.inputs {
            print!("{} ", request.question);
            stdout().flush()?;
            let line = stdin()
                .lock()
                .lines()
                .next()
                .transpose()?
                .unwrap_or_default();
            match line.trim() {
                "" => chat.decline(request)?,
                guests => {
                    if let Err(error) = chat.answer(request, json!({ "guests": guests })) {
                        println!("{error}");
                    }
                }
            }
        }
        turn = chat.complete().await?;
    }
    println!("{turn}");
    Ok(())
}
