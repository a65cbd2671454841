// M6
use tool_core::{ToolCall, tool};

/// Gets the weather.
#[tool]
fn weather(call: &ToolCall) -> String {
    call.name.clone()
}

fn main() {}
