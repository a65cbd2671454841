use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(城市: String) -> String {
    城市
}

fn main() {}
