use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[cfg(debug_assertions)] city: String) -> String {
    city
}

fn main() {}
