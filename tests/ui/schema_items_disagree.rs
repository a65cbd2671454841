use tool_core::tool;

/// Gets the weather.
#[tool(schema = { "type": "object", "properties": { "days": { "type": "array", "items": { "type": "string" } } }, "required": ["days"] })]
fn weather(days: Vec<u32>) -> String {
    format!("{days:?}")
}

fn main() {}
