use tool_core::{Decision, ToolCall, tool};

fn decide(_: &ToolCall) -> Decision {
    Decision::Pending
}

/// Gets the weather.
#[tool(approval = decide)]
fn weather() -> String {
    String::new()
}

fn main() {}
