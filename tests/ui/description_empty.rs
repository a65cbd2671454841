use tool_core::tool;

/// Gets the weather.
#[tool(description = "")]
fn weather() -> String {
    String::new()
}

fn main() {}
