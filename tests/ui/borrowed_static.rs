// B05
use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: &'static str) -> String {
    city.to_owned()
}

fn main() {}
