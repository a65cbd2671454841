//! B10: the dependency has another name.

use facade::{Tool, ToolCall, tool, tools};

/// Gets the weather.
#[tool]
pub fn weather(city: String, tool_call: &facade::ToolCall) -> String {
    format!("{city} {}", tool_call.id)
}

pub struct Refund;

#[tool]
impl Refund {
    /// Issues a refund.
    pub async fn execute(&self, order: u64, tool_call: Option<&ToolCall>) -> u64 {
        order + u64::from(tool_call.is_some())
    }
}

pub fn names() -> Vec<String> {
    let tools = tools![Weather, Refund];
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}
