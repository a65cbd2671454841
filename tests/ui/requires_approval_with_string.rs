use tool_core::tool;

/// Gets the weather.
#[tool(requires_approval = "always")]
fn weather() -> String {
    String::new()
}

fn main() {}
