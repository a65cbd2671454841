use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(ref city: String) -> String {
    city.clone()
}

fn main() {}
