use tool_core::tool;

/// Gets the weather.
#[tool(defer strict)]
fn weather() -> String {
    String::new()
}

fn main() {}
