use tool_core::tool;

/// Gets the weather.
#[tool(name = "")]
fn weather() -> String {
    String::new()
}

fn main() {}
