use tool_core::tool;

struct Forecast;

/// Gets the weather.
#[tool]
fn weather() -> Forecast {
    Forecast
}

fn main() {}
