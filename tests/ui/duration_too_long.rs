use tool_core::tool;

/// Gets the weather.
#[tool(max_run_time = "99999999999999999999d")]
fn weather() -> String {
    String::new()
}

fn main() {}
