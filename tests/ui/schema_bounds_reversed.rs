use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "type": "string", "minLength": 5, "maxLength": 2 } }, "required": ["city"] })]
fn weather(city: String) -> String {
    city
}

fn main() {}
