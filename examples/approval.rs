//! cargo run --example approval
//!
//! A refund that a person approves, denies or edits at the terminal: y, n, or another amount.
use std::io::{BufRead, Write, stdin, stdout};

use serde_json::json;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Turn, tool, tools};

/// Issues a refund for an order.
#[tool(requires_approval)]
async fn issue_refund(order: u64, amount: u32) -> String {
    format!("refunded {amount} for order {order}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new()
        .call("issue_refund", json!({ "order": 42, "amount": 250 }))
        .text("That is all I could do for you.");
    let mut chat = Chat::new(model)
        .with_tools(tools![IssueRefund])
        .after_tool_result(|result| println!("{:?}: {}", result.outcome, result.text));
    let mut turn = chat.ask("Refund order 42").await?;
    while let Turn::Paused(pause) = &turn {
        for call in &pause.approvals {
            print!(
                "{} {}: run it? [y, n, or another amount] ",
                call.name, call.arguments
            );
            stdout().flush()?;
            let line = stdin()
                .lock()
                .lines()
                .next()
                .transpose()?
                .unwrap_or_default();
            match line.trim() {
                "y" => chat.approve(call)?,
                amount if amount.parse::<u32>().is_ok() => {
                    chat.approve_with(call, json!({ "order": 42, "amount": amount }))?;
                }
                reason => chat.deny_with_reason(call, reason)?,
            }
        }
        turn = chat.complete().await?;
    }
    println!("{turn}");
    Ok(())
}
