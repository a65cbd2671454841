use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather() -> fn() -> u8 {
    || 1
}

fn main() {}
