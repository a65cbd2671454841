// B77
use tool_core::tool;

/// Gets the weather.
#[tool]
fn 搜索() -> String {
    String::new()
}

fn main() {}
