use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(range = 1..=10, example = 11)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
