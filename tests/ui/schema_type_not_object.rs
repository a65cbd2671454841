use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "string" })]
fn weather(city: String) -> String {
    city
}

fn main() {}
