use tool_core::tool;

/// Gets the weather.
#[tool(schema = "no_such_file.json")]
fn weather(city: String) -> String {
    city
}

fn main() {}
