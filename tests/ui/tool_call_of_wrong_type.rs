use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(tool_call: String) -> String {
    tool_call
}

fn main() {}
