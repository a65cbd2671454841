use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "days": { "type": "string" } }, "required": ["days"] })]
fn weather(days: u32) -> String {
    days.to_string()
}

fn main() {}
