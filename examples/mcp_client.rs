//! cargo run --example mcp_client [-- command argument …]
//!
//! Uses the tools of an MCP server: of the one given, or of the public `server-everything`, by npx.
use serde_json::json;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Turn};
use tool_providers::mcp::McpServer;

const EVERYTHING: [&str; 3] = [
    "npx",
    "-y",
    "@modelcontextprotocol/server-everything@2026.8.31",
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let is_given = !given.is_empty();
    let command = match is_given {
        true => given,
        false => EVERYTHING.map(str::to_owned).to_vec(),
    };
    let server = McpServer::command(&command[0], &command[1..])
        // For npx, which may need to know of a proxy; a server that is only called needs none of it.
        .with_all_variables()
        .requires_approval_if(|tool| tool.destructive)
        .connect()
        .await?;
    for tool in server.tool_set().iter() {
        println!("{}: {}", tool.name(), tool.definition().description());
    }
    if is_given {
        return Ok(());
    }
    // In place of a model that chooses by itself.
    let model = ScriptedModel::new()
        .call("get-sum", json!({ "a": 2, "b": 3 }))
        .call(
            "trigger-long-running-operation",
            json!({ "duration": 1, "steps": 4 }),
        )
        .text("Done.");
    let mut chat = Chat::new(model)
        .with_mcp(server)
        .after_tool_progress(|progress| println!("{:?} of {:?}", progress.value, progress.total))
        .after_tool_result(|result| println!("{}: {}", result.name, result.text));
    let mut turn = chat.ask("Add, then take your time.").await?;
    while let Turn::Paused(pause) = &turn {
        for call in &pause.approvals {
            println!("denied: {}", call.name);
            chat.deny(call)?;
        }
        turn = chat.complete().await?;
    }
    println!("{turn}");
    Ok(())
}
