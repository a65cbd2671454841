use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(range = 0.5..=1.5)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
