use tool_core::tool;

struct Forecast;

/// Gets the weather.
#[tool]
fn weather() -> Result<Forecast, std::io::Error> {
    Ok(Forecast)
}

fn main() {}
