use tool_core::{ToolCall, tool};

/// Gets the weather.
#[tool]
fn weather(#[param(rename = "call")] tool_call: &ToolCall) -> String {
    tool_call.name.clone()
}

fn main() {}
