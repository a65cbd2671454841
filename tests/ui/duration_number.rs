use tool_core::tool;

/// Gets the weather.
#[tool(max_run_time = 90)]
fn weather() -> String {
    String::new()
}

fn main() {}
