use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: impl ToString) -> String {
    city.to_string()
}

fn main() {}
