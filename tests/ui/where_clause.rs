use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: String) -> String
where
    String: Clone,
 {
    city
}

fn main() {}
