use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(range = 10)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
