use tool_core::tool;

/// Gets the weather.
#[tool(approval)]
fn weather() -> String {
    String::new()
}

fn main() {}
