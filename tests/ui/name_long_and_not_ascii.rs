use tool_core::tool;

/// Gets the weather.
#[tool(name = "aéééééééééééééééééééééééééééééééééééééééé")]
fn weather() -> String {
    String::new()
}

fn main() {}
