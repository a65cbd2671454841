use tool_core::tool;

/// Gets the weather.
#[tool(schema)]
fn weather() -> String {
    String::new()
}

fn main() {}
