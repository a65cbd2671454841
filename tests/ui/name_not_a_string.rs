use tool_core::tool;

/// Gets the weather.
#[tool(name = weather)]
fn weather() -> String {
    String::new()
}

fn main() {}
