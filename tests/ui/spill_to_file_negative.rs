use tool_core::tool;

/// Gets the weather.
#[tool(spill_to_file = -1)]
fn weather() -> String {
    String::new()
}

fn main() {}
