use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(city: &dyn ToString) -> String {
    city.to_string()
}

fn main() {}
