use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather<const N: usize>(days: [u8; N]) -> String {
    days.len().to_string()
}

fn main() {}
