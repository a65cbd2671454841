//! cargo run --example mcp_server
//!
//! Serves the assistant's tools, and one that asks, to any MCP client over stdio. Try it with
//! `cargo run --example mcp_client -- target/debug/examples/mcp_server`.
#[path = "assistant/tools.rs"]
mod assistant;

use assistant::{
    CalculateTool, ConvertUnit, CountWords, DaysBetween, GetTime, ListFiles, ReadFile,
};
use serde_json::json;
use tool_core::{ToolCall, ToolError, tool, tools};
use tool_providers::mcp::McpService;

/// Books a table. The client asks its user whether it may, and for how many.
#[tool(requires_approval)]
async fn book_table(day: String, tool_call: &ToolCall) -> Result<String, ToolError> {
    let fields = json!({ "guests": { "type": "integer", "minimum": 1, "required": true } });
    let question = format!("How many come on {day}?");
    let party = tool_call.ask(question, fields).await?;
    Ok(match party.accepted() {
        true => format!("A table for {} is booked on {day}.", party["guests"]),
        false => "Nothing is booked.".into(),
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::current_dir()?;
    let tools = tools![
        BookTable,
        CalculateTool,
        ConvertUnit,
        DaysBetween,
        GetTime,
        ListFiles { root: root.clone() },
        ReadFile { root: root.clone() },
        CountWords { root },
    ];
    let service = McpService::new(tools).named("assistant", "1.0.0");
    service.serve_stdio().await?;
    Ok(())
}
