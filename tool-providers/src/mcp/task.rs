//! Work of a server that goes on after a call.

use std::time::Duration;

use rmcp::model::{CallToolResult, GetTaskParams, TaskPayload, UpdateTaskParams};
use serde_json::{Value, json};
use tool_core::{Task, ToolCall, ToolError, ToolOutput};

use super::session::Session;
use super::tool::McpTool;
use super::{McpError, McpErrorKind, content};

/// The member of a task's data that names it on the server.
const ID: &str = "mcp_task";

/// The task as the chat keeps it.
pub(super) fn of(task: &rmcp::model::Task) -> Task {
    let kept = Task::new(json!({ ID: task.task_id }));
    let kept = match &task.status_message {
        Some(message) => kept.with_message(message),
        None => kept,
    };
    match task.poll_interval_ms {
        Some(interval) => kept.with_poll_interval(Duration::from_millis(interval)),
        None => kept,
    }
}

/// Asks the server for a task. It stays as it is while the server cannot be reached.
pub(super) async fn resume(
    tool: &McpTool,
    session: &Session,
    task: Task,
    call: &ToolCall,
) -> Result<ToolOutput, ToolError> {
    let Some(id) = task.data.get(ID).and_then(Value::as_str) else {
        return Err(ToolError::new("this task is none of an MCP server"));
    };
    let asked = async {
        let connection = session.connection().await?;
        let got = connection.peer().get_task(GetTaskParams::new(id)).await;
        let got = got.map_err(|error| connection.failed(&session.label, error))?;
        Ok::<_, McpError>((connection, got.task))
    };
    let (connection, got) = match asked.await {
        Ok(got) => got,
        Err(error) if may_pass(error.kind()) => {
            return Ok(ToolOutput::task(task.with_message(error.to_string())));
        }
        Err(error) => return Err(error.into()),
    };
    match got.payload {
        TaskPayload::Completed { result } => {
            let result: Result<CallToolResult, _> = serde_json::from_value(Value::Object(result));
            content::output(result.map_err(|error| {
                let label = &session.label;
                let text = format!("the MCP server `{label}` ended a task with no result: {error}");
                McpError::new(McpErrorKind::Protocol, text).with_source(error)
            })?)
        }
        TaskPayload::Failed { error } => {
            let text = error.get("message").and_then(Value::as_str);
            Err(ToolError::new(text.unwrap_or("The task failed.")))
        }
        TaskPayload::Cancelled => Err(ToolError::new("The task was cancelled on the server.")),
        TaskPayload::InputRequired { input_requests } => {
            let responses = tool.responses(call, input_requests).await?;
            let update = UpdateTaskParams::new(id, responses);
            let updated = connection.peer().update_task(update).await;
            updated.map_err(|error| connection.failed(&session.label, error))?;
            Ok(ToolOutput::task(of(&got.task)))
        }
        _ => Ok(ToolOutput::task(of(&got.task))),
    }
}

/// Whether it may be better the next time.
fn may_pass(kind: McpErrorKind) -> bool {
    matches!(
        kind,
        McpErrorKind::Closed
            | McpErrorKind::Connect
            | McpErrorKind::Resting
            | McpErrorKind::Start
            | McpErrorKind::Timeout
    )
}
