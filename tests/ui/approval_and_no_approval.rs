use tool_core::{Decision, ToolCall, tool};

async fn decide(_: &ToolCall) -> Decision {
    Decision::Pending
}

/// Gets the weather.
#[tool(requires_approval = false, approval = decide)]
fn weather() -> String {
    String::new()
}

fn main() {}
