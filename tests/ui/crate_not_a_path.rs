use tool_core::tool;

/// Gets the weather.
#[tool(crate = "tool_core")]
fn weather() -> String {
    String::new()
}

fn main() {}
