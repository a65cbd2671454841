use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(range = 1..=10)] value: bool) -> String {
    format!("{value:?}")
}

fn main() {}
