use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(place: Place) -> String {
    place.city
}

fn main() {}
