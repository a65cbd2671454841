use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather() -> Result<std::io::Error, String> {
    Err(String::new())
}

fn main() {}
