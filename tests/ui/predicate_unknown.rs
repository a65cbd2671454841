use tool_core::tool;

/// Gets the weather.
#[tool(requires_approval = is_large)]
fn weather() -> String {
    String::new()
}

fn main() {}
