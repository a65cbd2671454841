use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "type": "string" }, "tool_call": { "type": "string" } }, "required": ["city"] })]
fn weather(city: String) -> String {
    city
}

fn main() {}
