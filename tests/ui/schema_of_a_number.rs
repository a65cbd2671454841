use tool_core::tool;

/// Gets the weather.
#[tool(schema = 3)]
fn weather() -> String {
    String::new()
}

fn main() {}
