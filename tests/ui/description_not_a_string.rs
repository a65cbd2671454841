use tool_core::tool;

/// Gets the weather.
#[tool(description = 42)]
fn weather() -> String {
    String::new()
}

fn main() {}
