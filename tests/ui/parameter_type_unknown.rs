use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(place: Place) -> String {
    String::new()
}

fn main() {}
