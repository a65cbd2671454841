use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather<T: ToString>(city: T) -> String {
    city.to_string()
}

fn main() {}
