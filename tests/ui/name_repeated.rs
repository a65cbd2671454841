use tool_core::tool;

/// Gets the weather.
#[tool(name = "a", name = "b")]
fn weather() -> String {
    String::new()
}

fn main() {}
