use tool_core::tool;

struct Weather;

/// Gets the weather.
#[tool]
fn weather() -> String {
    String::new()
}

fn main() {}
