use tool_core::tool;

/// Gets the weather.
#[tool]
extern "C" fn weather() -> String {
    String::new()
}

fn main() {}
