// B76
use tool_core::{tool, tools};

/// Gets the weather.
#[tool]
fn weather() -> String {
    String::new()
}

fn main() {
    let _ = tools![Weather, Weather];
}
