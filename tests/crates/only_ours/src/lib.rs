//! B11: there is no other dependency, neither serde nor schemars.

use tool_core::schemars::JsonSchema;
use tool_core::serde::{Deserialize, Serialize};
use tool_core::tool;

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
pub struct Place {
    pub city: String,
}

/// Finds a place.
#[tool(requires_approval = |_| true, provider_options = { "a": 1 })]
pub async fn find(
    place: Place,
    #[param(default = 3, range = 1..=10)] days: u32,
    #[param(example = "x")] hint: Option<&str>,
) -> Result<Place, std::io::Error> {
    let _ = (days, hint);
    Ok(place)
}
