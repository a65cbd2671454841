use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(alias = "town")] city: String, town: String) -> String {
    city + &town
}

fn main() {}
