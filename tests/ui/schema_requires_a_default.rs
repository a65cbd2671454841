use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] })]
fn weather(#[param(default = "Berlin")] city: String) -> String {
    city
}

fn main() {}
