use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: String, city: String) -> String {
    city
}

fn main() {}
