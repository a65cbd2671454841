// B08
use tool_core::tool;

#[derive(tool_core::serde::Deserialize)]
#[serde(crate = "tool_core::serde")]
struct Place {
    city: String,
}

/// Gets the weather.
#[tool]
fn weather(place: Place) -> String {
    place.city
}

fn main() {}
