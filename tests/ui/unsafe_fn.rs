use tool_core::tool;

/// Gets the weather.
#[tool]
unsafe fn weather() -> String {
    String::new()
}

fn main() {}
