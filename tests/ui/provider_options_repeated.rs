use tool_core::tool;

/// Gets the weather.
#[tool(provider_options = { "a": 1 }, provider_options = { "b": 2 })]
fn weather() -> String {
    String::new()
}

fn main() {}
