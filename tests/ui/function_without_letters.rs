use tool_core::tool;

/// Gets the weather.
#[tool]
fn _1() -> String {
    String::new()
}

fn main() {}
