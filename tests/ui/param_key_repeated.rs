use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(default = 1)] #[param(default = 2)] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
