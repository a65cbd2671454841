use tool_core::tool;

/// Gets the weather.
#[tool]
enum Weather {
    Sunny,
}

fn main() {}
