use tool_core::tool;

/// Gets the weather.
#[tool]
fn result() -> String {
    String::new()
}

fn main() {}
