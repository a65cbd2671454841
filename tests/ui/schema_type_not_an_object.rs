// B26
use tool_core::tool;

/// Gets the weather.
#[tool(schema = Vec<String>)]
fn weather(city: String) -> String {
    city
}

fn main() {}
