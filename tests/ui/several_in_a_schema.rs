use tool_core::tool;

/// Gets the weather.
#[tool(schema = {
    "type": "object",
    "properties": { "cty": { "type": "string" }, "days": { "type": "string" } },
    "required": ["days", "hours"]
})]
fn weather(city: String, days: u32) -> String {
    format!("{city} {days}")
}

fn main() {}
