use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(pattern = 1)] value: String) -> String {
    format!("{value:?}")
}

fn main() {}
