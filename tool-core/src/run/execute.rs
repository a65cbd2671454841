//! Running one call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::spill::SpillOver;
use crate::{Outcome, Task, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, ToolResult};

/// What became of a call that ran.
pub(crate) enum Ran {
    Done(ToolResult),
    Paused(Task),
    Fatal(ToolResult, ToolError),
}

/// Runs a call and keeps a result that is too long in a file.
pub(crate) async fn execute(
    tool: Arc<dyn Tool>,
    call: ToolCall,
    task: Option<Task>,
    spill: Option<SpillOver>,
) -> Ran {
    let ran = run(tool, &call, task).await;
    match (ran, spill) {
        (Ran::Done(result), Some(spill)) => Ran::Done(spill.bound(&call, result).await),
        (Ran::Fatal(result, error), Some(spill)) => {
            Ran::Fatal(spill.bound(&call, result).await, error)
        }
        (ran, _) => ran,
    }
}

/// Runs a call, or carries on the one that paused on `task`, within the time the tool may take.
async fn run(tool: Arc<dyn Tool>, call: &ToolCall, task: Option<Task>) -> Ran {
    let limit = tool.definition().max_run_time();
    let blocking = tool.definition().is_blocking();
    let run = async {
        match blocking {
            true => off_thread(tool, call.clone(), task).await,
            false => Catch(Box::pin(async { start(&*tool, call, task).await })).await,
        }
    };
    let ran = match limit {
        Some(limit) => tokio::time::timeout(limit, run).await.map_err(|_| limit),
        None => Ok(run.await),
    };
    match ran {
        Ok(Ok(Ok(output))) => finished(call, output),
        Ok(Ok(Err(error))) => failed(call, error),
        Ok(Err(Panicked)) => Ran::Done(ToolResult::new(
            call,
            Outcome::Error,
            "The tool failed unexpectedly.",
        )),
        Err(limit) => Ran::Done(ToolResult::new(
            call,
            Outcome::TimedOut,
            timed_out(limit, blocking),
        )),
    }
}

fn start<'a>(tool: &'a dyn Tool, call: &'a ToolCall, task: Option<Task>) -> crate::ToolFuture<'a> {
    match task {
        Some(task) => tool.resume(task, call),
        None => tool.invoke(call),
    }
}

fn finished(call: &ToolCall, output: ToolOutput) -> Ran {
    if let Some(task) = output.as_task() {
        return Ran::Paused(task.clone());
    }
    let outcome = if output.is_error() {
        Outcome::Error
    } else {
        Outcome::Ok
    };
    let (text, attachments) = output.into_parts();
    Ran::Done(ToolResult {
        attachments,
        ..ToolResult::new(call, outcome, text)
    })
}

fn failed(call: &ToolCall, error: ToolError) -> Ran {
    let text = error.to_string();
    let text = if text.is_empty() {
        "The tool failed.".into()
    } else {
        text
    };
    let result = ToolResult::new(call, Outcome::Error, text);
    match error.kind() {
        ToolErrorKind::Fatal => Ran::Fatal(result, error),
        ToolErrorKind::Failed | ToolErrorKind::InvalidArguments => Ran::Done(result),
    }
}

fn timed_out(limit: Duration, blocking: bool) -> String {
    let rest = if blocking {
        " It could not be stopped and may still be running."
    } else {
        " It was stopped."
    };
    format!("The tool did not finish within {limit:?}.{rest}")
}

struct Panicked;

type ToolReply = Result<ToolOutput, ToolError>;

/// Runs a tool that blocks on a thread of its own.
async fn off_thread(
    tool: Arc<dyn Tool>,
    call: ToolCall,
    task: Option<Task>,
) -> Result<ToolReply, Panicked> {
    let work = move || {
        let mut future = start(&*tool, &call, task);
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(reply) => reply,
            Poll::Pending => Err(ToolError::new(
                "the tool is declared as blocking and yet waited for something",
            )),
        }
    };
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Panicked)
}

/// Turns a panic of a future into a value.
struct Catch<'a>(crate::ToolFuture<'a>);

impl Future for Catch<'_> {
    type Output = Result<ToolReply, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = AssertUnwindSafe(|| self.0.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    }
}
