use tool_core::tool;

/// Gets the weather.
#[tool]
fn weather(#[param(rename = "tool_call")] call: String) -> String {
    call
}

fn main() {}
