use tool_core::tool;

/// Gets the weather.
#[tool(defer = "yes")]
fn weather() -> String {
    String::new()
}

fn main() {}
