use tool_core::tool;

/// Gets the weather.
#[tool(name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
fn weather() -> String {
    String::new()
}

fn main() {}
