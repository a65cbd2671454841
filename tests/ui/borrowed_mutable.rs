use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: &mut String) -> String {
    city.clone()
}

fn main() {}
