use tool_core::tool;

/// Gets the weather.
#[tool(spill_to_file = true)]
fn weather() -> String {
    String::new()
}

fn main() {}
