use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "$ref": "https://example.com/city.json" } }, "required": ["city"] })]
fn weather(city: String) -> String {
    city
}

fn main() {}
