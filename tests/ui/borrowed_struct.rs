// B17
use tool_core::tool;

#[derive(tool_core::serde::Deserialize, tool_core::schemars::JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
struct Place {
    city: String,
}

/// Gets the weather.
#[tool]
fn weather(place: &Place) -> String {
    place.city.clone()
}

fn main() {}
