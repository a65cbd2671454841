use tool_core::tool;

/// Gets the weather.
#[tool(provider_options)]
fn weather() -> String {
    String::new()
}

fn main() {}
