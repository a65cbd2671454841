use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(cities: Vec<&str>) -> String {
    cities.join(", ")
}

fn main() {}
