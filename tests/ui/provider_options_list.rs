use tool_core::tool;

/// Gets the weather.
#[tool(provider_options = ["a"])]
fn weather() -> String {
    String::new()
}

fn main() {}
