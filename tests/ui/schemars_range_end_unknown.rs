use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[schemars(range(from = 1))] value: u32) -> String {
    format!("{value:?}")
}

fn main() {}
