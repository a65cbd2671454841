use tool_core::tool;

/// Gets the weather.
#[tool]
struct Weather;

fn main() {}
