use tool_core::tool;

fn describe() -> &'static str {
    "Gets the weather."
}

/// Gets the weather.
#[tool(description = describe())]
fn weather() -> String {
    String::new()
}

fn main() {}
