use tool_core::tool;

/// Gets the weather.
#[tool(schema = ["city"])]
fn weather(city: String) -> String {
    city
}

fn main() {}
