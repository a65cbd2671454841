use tool_core::tool;

/// Gets the weather.
#[tool(defer, name = "a", defer)]
fn weather() -> String {
    String::new()
}

fn main() {}
