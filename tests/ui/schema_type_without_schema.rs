use tool_core::tool;

struct Place;

/// Gets the weather.
#[tool(schema = Place)]
fn weather(city: String) -> String {
    city
}

fn main() {}
