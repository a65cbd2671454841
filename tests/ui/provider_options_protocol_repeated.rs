use tool_core::tool;

/// Gets the weather.
#[tool(provider_options(gemini = { "a": 1 }, gemini = { "b": 2 }))]
fn weather() -> String {
    String::new()
}

fn main() {}
