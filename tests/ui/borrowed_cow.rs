use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: std::borrow::Cow<'_, str>) -> String {
    city.into_owned()
}

fn main() {}
