use tool_core::{ToolCall, tool};

async fn decide(_: &ToolCall) -> bool {
    true
}

/// Gets the weather.
#[tool(approval = decide)]
fn weather() -> String {
    String::new()
}

fn main() {}
