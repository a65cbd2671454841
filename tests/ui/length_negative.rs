use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(length = -1..=10)] value: String) -> String {
    format!("{value:?}")
}

fn main() {}
