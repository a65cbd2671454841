use tool_core::tool;

/// Gets the weather.
#[tool(provider_options = { "a": None })]
fn weather() -> String {
    String::new()
}

fn main() {}
