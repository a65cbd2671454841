use tool_core::tool;

struct ToolCall(String);

/// Gets the weather.
#[tool]
fn weather(tool_call: &ToolCall) -> String {
    tool_call.0.clone()
}

fn main() {}
