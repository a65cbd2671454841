use tool_core::tool;

/// Gets the weather.
#[tool(after_crash = "reruns")]
fn weather() -> String {
    String::new()
}

fn main() {}
