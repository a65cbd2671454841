use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "cty": { "type": "string" } }, "required": ["cty"] })]
fn weather(city: String) -> String {
    city
}

fn main() {}
