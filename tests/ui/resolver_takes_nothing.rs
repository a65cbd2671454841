use tool_core::{Decision, tool};

async fn decide() -> Decision {
    Decision::Pending
}

/// Gets the weather.
#[tool(approval = decide)]
fn weather() -> String {
    String::new()
}

fn main() {}
