use tool_core::tool;

struct WeatherError;

/// Gets the weather.
#[tool]
fn weather() -> Result<String, WeatherError> {
    Err(WeatherError)
}

fn main() {}
