use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[schemars(title = "Value")] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
