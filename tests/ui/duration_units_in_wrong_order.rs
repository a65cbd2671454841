use tool_core::tool;

/// Gets the weather.
#[tool(max_run_time = "4h 1d")]
fn weather() -> String {
    String::new()
}

fn main() {}
