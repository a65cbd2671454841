// B08
use tool_core::tool;

struct Place {
    city: String,
}

/// Gets the weather.
#[tool]
fn weather(place: Place) -> String {
    place.city
}

fn main() {}
