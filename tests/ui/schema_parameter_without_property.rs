use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] })]
fn weather(city: String, days: u32) -> String {
    format!("{city} {days}")
}

fn main() {}
