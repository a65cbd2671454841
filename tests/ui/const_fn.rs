use tool_core::tool;

/// Gets the weather.
#[tool]
const fn weather() -> String {
    String::new()
}

fn main() {}
