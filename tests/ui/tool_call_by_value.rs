use tool_core::{ToolCall, tool};

/// Gets the weather.
#[tool]
fn weather(tool_call: ToolCall) -> String {
    tool_call.name
}

fn main() {}
