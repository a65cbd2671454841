use tool_core::tool;

/// Gets the weather.
#[tool(max_run_time = "0s")]
fn weather() -> String {
    String::new()
}

fn main() {}
