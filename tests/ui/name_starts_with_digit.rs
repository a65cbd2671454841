use tool_core::tool;

/// Gets the weather.
#[tool(name = "1st")]
fn weather() -> String {
    String::new()
}

fn main() {}
