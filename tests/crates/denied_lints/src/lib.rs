//! B19: generated code triggers no lint of the user's.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused,
    unused_qualifications,
    single_use_lifetimes,
    trivial_casts,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::panic,
    clippy::unimplemented
)]
#![forbid(unsafe_code)]

use tool_core::{Decision, Task, TaskPoll, ToolCall, ToolSet, tool, tools};

/// Gets the weather.
///
/// # Errors
///
/// Never.
#[tool(max_run_time = "90s", requires_approval = is_far, after_crash = "report")]
pub async fn weather(
    /// A city.
    city: String,
    #[param(default = 3, range = 1..=10)] days: u32,
    #[param(default = String::new())] note: String,
    #[param(default)] tags: Vec<String>,
    hint: Option<&str>,
) -> Result<String, std::fmt::Error> {
    std::future::ready(()).await;
    Ok(format!("{city}{days}{note}{tags:?}{hint:?}"))
}

fn is_far(call: &ToolCall) -> bool {
    call.arguments.as_str().is_empty()
}

#[tool(name = "undocumented", description = "Has no doc comment.")]
#[allow(missing_docs)]
#[must_use]
pub fn undocumented_() -> u8 {
    1
}

/// Exports a table.
#[derive(Debug)]
pub struct Export;

#[tool(approval = Self::decide)]
impl Export {
    /// Exports it.
    pub async fn execute(&self, table: String) -> Task {
        std::future::ready(()).await;
        Task::new(table)
    }

    /// Looks whether it is there.
    ///
    /// # Errors
    ///
    /// Never.
    pub async fn resume(&self, task: Task, table: &str) -> Result<TaskPoll<u8>, std::fmt::Error> {
        std::future::ready((task, table)).await;
        Ok(TaskPoll::Ready(1))
    }

    async fn decide(&self, call: &ToolCall) -> Decision {
        std::future::ready(call).await;
        Decision::Approved
    }
}

/// All of them.
#[must_use]
pub fn all() -> ToolSet {
    tools![Weather, Undocumented, Export]
}
