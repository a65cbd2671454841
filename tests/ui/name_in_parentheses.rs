use tool_core::tool;

/// Gets the weather.
#[tool(name("get_weather"))]
fn weather() -> String {
    String::new()
}

fn main() {}
