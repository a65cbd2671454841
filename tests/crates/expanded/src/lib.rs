//! Typical tools, whose generated code is in `tests/expansions`.

use tool_core::{Decision, Task, TaskPoll, ToolCall, ToolError, tool};

/// Does nothing.
#[tool]
pub fn nothing() {}

/// Gets the current weather for a location.
#[tool]
pub async fn weather(
    /// Latitude in decimal degrees.
    #[param(range = -90.0..=90.0)]
    latitude: f64,
    longitude: f64,
    #[param(default = 3, rename = "n")] days: u32,
    place: Option<&str>,
    tool_call: &ToolCall,
) -> Result<String, ToolError> {
    let _ = (latitude, longitude, days, place, tool_call);
    Ok(String::new())
}

pub struct IssueRefund {
    pub limit: u64,
}

#[tool(requires_approval = Self::is_large, max_run_time = "2h", spill_to_file = 50_000, after_crash = "review")]
impl IssueRefund {
    /// Issues a refund for an order.
    pub fn execute(&self, order: &str, cents: u64) -> String {
        format!("{order} {cents}")
    }

    fn is_large(&self, call: &ToolCall) -> bool {
        call.arguments.as_str().len() as u64 > self.limit
    }
}

pub struct Export;

/// Exports a table.
#[tool(approval = decide, provider_options(anthropic = { "eager": true }))]
impl Export {
    pub async fn execute(&self, table: String) -> Task {
        Task::new(table)
    }

    pub async fn resume(&self, task: &Task, table: &str) -> TaskPoll<String> {
        TaskPoll::Ready(format!("{table} {}", task.data))
    }
}

async fn decide(_: &Export, _: &ToolCall) -> Decision {
    Decision::Pending
}
