use tool_core::tool;

fn ten(text: &str) -> u32 {
    text.len() as u32
}

/// Gets the weather.
#[tool]
fn weather(#[serde(deserialize_with = "ten")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
