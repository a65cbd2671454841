//! B10: the workspace gives the dependency another name.

/// Gets the weather.
#[inherited::tool]
pub fn weather(city: String) -> String {
    city
}
