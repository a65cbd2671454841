use tool_core::tool;

/// Gets the weather.
#[tool(provider_options = { "a": yes })]
fn weather() -> String {
    String::new()
}

fn main() {}
