// B14
use tool_core::tool;

/// Gets the weather.
#[tool(nam = "x", garbage)]
fn weather() -> String {
    String::new()
}

fn main() {}
