use tool_core::{ToolCall, tool};

fn is_large(_: &ToolCall) -> u64 {
    100
}

/// Gets the weather.
#[tool(requires_approval = is_large)]
fn weather() -> String {
    String::new()
}

fn main() {}
