use tool_core::tool;

/// Gets the weather.
#[tool(strict = 1)]
fn weather() -> String {
    String::new()
}

fn main() {}
