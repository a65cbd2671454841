use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(_: f64) -> String {
    String::new()
}

fn main() {}
