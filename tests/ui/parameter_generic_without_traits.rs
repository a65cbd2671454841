use tool_core::tool;

struct Place {
    city: String,
}

/// Gets the weather.
#[tool]
fn weather(places: Vec<Place>) -> String {
    places.into_iter().map(|place| place.city).collect()
}

fn main() {}
