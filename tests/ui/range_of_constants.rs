use tool_core::tool;

const MIN: u32 = 1;

/// Gets the weather.
#[tool]
fn weather(#[param(range = MIN..=10)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
