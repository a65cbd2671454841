use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(rename = "the city")] city: String) -> String {
    city
}

fn main() {}
