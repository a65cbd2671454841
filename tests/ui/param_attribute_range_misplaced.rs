use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[range(1..=3)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
