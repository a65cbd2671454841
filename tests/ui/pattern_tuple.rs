use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather((latitude, longitude): (f64, f64)) -> String {
    format!("{latitude}, {longitude}")
}

fn main() {}
