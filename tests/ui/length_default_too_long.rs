use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(length = 1..=2, default = "Paris")] city: &str) -> String {
    city.into()
}

fn main() {}
