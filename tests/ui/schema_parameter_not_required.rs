use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "type": "string" } }, "required": [] })]
fn weather(city: String) -> String {
    city
}

fn main() {}
