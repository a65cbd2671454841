//! cargo run --example durable -- ask && cargo run --example durable -- approve && cargo run --example durable -- finish
//!
//! One process asks, another one approves, a third one finishes. Kill any of them and start it again.
use std::time::Duration;

use serde_json::json;
use tool_core::store::{SqliteChats, SqliteTransaction};
use tool_core::testing::ScriptedModel;
use tool_core::{Agent, StoredChat, ToolCall, Turn, tool, tools};

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Issues a refund for an order.
#[tool(requires_approval)]
async fn issue_refund(order: u64, cents: u32, tool_call: &ToolCall) -> Fallible<String> {
    // Committed together with the result of the call: exactly once, whatever is killed.
    let database = tool_call.transaction::<SqliteTransaction>().await?;
    database.execute("insert into refunds values (?1, ?2)", (order as i64, cents))?;
    Ok(format!("refunded {cents} cents for order {order}"))
}

async fn chat(model: ScriptedModel) -> Fallible<StoredChat> {
    let path = std::env::temp_dir().join("tool-durable.db");
    let table = "create table if not exists refunds (order_id integer, cents integer)";
    rusqlite::Connection::open(&path)?.execute_batch(table)?;
    let agent = Agent::new(model, SqliteChats::open(&path)?).with_tools(tools![IssueRefund]);
    let agent = agent.with_lease(Duration::from_secs(2));
    let _made_already = agent.create_as("order-42").await;
    Ok(agent.find("order-42").await?)
}

#[tokio::main]
async fn main() -> Fallible<()> {
    let mut found = chat(ScriptedModel::new()).await?;
    match std::env::args().nth(1).as_deref() {
        Some("ask") => {
            let call = json!({ "order": 42, "cents": 250 });
            let mut chat = chat(ScriptedModel::new().call("issue_refund", call)).await?;
            println!("{}", chat.ask("Refund order 42").await?);
        }
        Some("approve") => {
            for call in found.pending_approvals() {
                found.approve(&call).await?;
                println!("approved: {} {}", call.name, call.arguments);
            }
        }
        Some("finish") if !found.is_idle() => {
            let mut chat = chat(ScriptedModel::new().text("Order 42 is refunded.")).await?;
            // Whoever was killed holds the chat for two seconds more.
            loop {
                match chat.complete().await? {
                    Turn::Running => tokio::time::sleep(Duration::from_millis(100)).await,
                    turn => break println!("{turn}"),
                }
            }
        }
        _ => println!("{:#?}", found.messages()),
    }
    Ok(())
}
