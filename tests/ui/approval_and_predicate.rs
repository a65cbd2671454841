use tool_core::{Decision, ToolCall, tool};

async fn decide(_: &ToolCall) -> Decision {
    Decision::Pending
}

fn is_large(_: &ToolCall) -> bool {
    true
}

/// Gets the weather.
#[tool(approval = decide, requires_approval = is_large)]
fn weather() -> String {
    String::new()
}

fn main() {}
