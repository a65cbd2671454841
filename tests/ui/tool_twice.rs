use tool_core::tool;

/// Gets the weather.
#[tool]
#[tool(defer)]
fn weather() -> String {
    String::new()
}

fn main() {}
