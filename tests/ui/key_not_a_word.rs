use tool_core::tool;

/// Gets the weather.
#[tool(= 3)]
fn weather() -> String {
    String::new()
}

fn main() {}
