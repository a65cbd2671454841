use tool_core::tool;

/// Gets the weather.
#[tool(max_run_time = "2 hours")]
fn weather() -> String {
    String::new()
}

fn main() {}
