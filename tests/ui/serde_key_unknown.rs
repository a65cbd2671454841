// B07
use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[serde(skip)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
