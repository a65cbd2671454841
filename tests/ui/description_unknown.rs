use tool_core::tool;

/// Gets the weather.
#[tool(description = WEATHER)]
fn weather() -> String {
    String::new()
}

fn main() {}
