use tool_core::tool;

fn ten() -> &'static str {
    "ten"
}

/// Gets the weather.
#[tool]
fn weather(#[serde(default = "ten")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
