use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(example = "ten")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
