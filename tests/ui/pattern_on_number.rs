use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(pattern = "^a$")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
