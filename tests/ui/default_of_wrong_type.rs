use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(default = "ten")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
