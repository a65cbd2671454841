use tool_core::tool;

/// Gets the weather.
#[tool(provider_options = { cache: true })]
fn weather() -> String {
    String::new()
}

fn main() {}
