use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(default = None)] value: Option<u32>) -> String {
    format!("{value:?}")
}

fn main() {}
