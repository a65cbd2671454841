use tool_core::tool;

/// Gets the weather.
#[tool("Gets the weather.")]
fn weather() -> String {
    String::new()
}

fn main() {}
