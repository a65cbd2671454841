use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] })]
fn weather(city: Option<String>) -> String {
    city.unwrap_or_default()
}

fn main() {}
