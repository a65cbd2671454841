use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[serde(deserialize_with = "ten")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
