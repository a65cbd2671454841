use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(cities: &[String]) -> String {
    cities.join(", ")
}

fn main() {}
