//! cargo run --example files
use serde_json::json;
use tool_core::files::{FileTools, MemoryStore};
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Message, tool, tools};

/// Exports all orders.
#[tool(spill_to_file = 300)]
fn export_orders() -> String {
    let line = |order: u32| format!("order {order}: {} EUR\n", order * 37 % 500);
    (1..=5_000).map(line).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = MemoryStore::new();
    let model = ScriptedModel::new()
        .call("export_orders", json!({}))
        .call("list_files", json!({ "folder": "results" }))
        .call("search_files", json!({ "pattern": "order 4711:" }))
        .text("Order 4711 was of 307 EUR.");
    let mut chat = Chat::new(model)
        .with_tools(tools![ExportOrders])
        .with_tools(FileTools::new(files.clone()).tools())
        .with_file_store(files)
        .after_message(|message| match message {
            Message::Assistant(answer) => {
                let calls = answer.tool_calls();
                calls.for_each(|call| println!("\n> {} {}", call.name, call.arguments));
            }
            Message::Tool(result) => println!("{}", result.text),
            _ => {}
        });
    println!("\n{}", chat.ask("Of how much was order 4711?").await?);
    Ok(())
}
