use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "$ref": "#/$defs/City" } }, "required": ["city"] })]
fn weather(city: String) -> String {
    city
}

fn main() {}
