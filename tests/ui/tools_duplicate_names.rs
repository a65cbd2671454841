use tool_core::{tool, tools};

/// Gets the weather.
#[tool]
fn weather() -> String {
    String::new()
}

/// Gets the forecast.
#[tool(name = "weather")]
fn forecast() -> String {
    String::new()
}

fn main() {
    let _ = tools![Weather, Forecast];
}
