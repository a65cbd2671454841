use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: &String) -> String {
    city.clone()
}

fn main() {}
