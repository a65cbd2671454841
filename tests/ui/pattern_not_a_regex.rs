use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(pattern = "[a-z")] city: String) -> String {
    city
}

fn main() {}
