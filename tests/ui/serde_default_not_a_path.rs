use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[serde(default = 10)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
