use tool_core::tool;

#[derive(tool_core::serde::Serialize)]
#[serde(crate = "tool_core::serde")]
struct Forecast;

/// Gets the weather.
#[tool]
fn forecast() -> Forecast {
    Forecast
}

fn main() {}
