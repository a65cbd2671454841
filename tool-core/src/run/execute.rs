//! Running one call.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;

use super::outbox::Unkept;
use super::spill::SpillOver;
use super::{Deadline, Outbox, RunContext};
use crate::store::{StoreError, StoreErrorKind};
use crate::{
    InputRequest, Outcome, Task, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, ToolResult,
};

/// What became of a call that ran.
pub(crate) enum Ran {
    Done(ToolResult),
    Paused(Task),
    /// It asks the user; so many questions were answered before.
    Asked(usize, InputRequest),
    Fatal(ToolResult, ToolError),
    /// Whether it took effect, and its result was recorded with that, only the store knows.
    Unrecorded(StoreError),
    /// It is in the outbox.
    Left,
}

/// How a call is run.
pub(crate) struct Order {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) call: ToolCall,
    /// Whether a person changed its arguments.
    pub(crate) is_edited: bool,
    pub(crate) context: Arc<RunContext>,
    /// The task that it paused on.
    pub(crate) task: Option<Task>,
    /// How long it may take.
    pub(crate) max_run_time: Option<Duration>,
    /// What is done with a result that is too long.
    pub(crate) spill: Option<SpillOver>,
    pub(crate) outbox: Outbox,
    /// Until when its run should have ended, for those who wait for that.
    pub(crate) deadline: Option<Deadline>,
}

/// Runs a call, and keeps a result that is too long. A panic anywhere is a failure of the call.
pub(crate) async fn execute(order: Order) -> Ran {
    let call = order.call.clone();
    let context = order.context.clone();
    let is_edited = order.is_edited;
    let mut ran = execute_unsettled(order).await;
    if let (Ran::Done(result) | Ran::Fatal(result, _), true) = (&mut ran, is_edited) {
        result.text.push_str(&edited(&call));
    }
    let Some(acting) = context.acting() else {
        return ran;
    };
    let result = match &ran {
        Ran::Done(result) => Some(result),
        _ => None,
    };
    match acting.settle(result).await {
        Ok(()) => ran,
        Err(error) if error.kind() == StoreErrorKind::Refused => {
            Ran::Done(ToolResult::new(&call, Outcome::Error, error.to_string()))
        }
        Err(error) => Ran::Unrecorded(error),
    }
}

/// The same, but that a transaction that it began is open.
async fn execute_unsettled(mut order: Order) -> Ran {
    let call = order.call.clone();
    let outbox = order.outbox.clone();
    let spill = order.spill.take();
    // A run that ended before and was dropped while its file was written does not run again.
    if let Some(unkept) = outbox.take_unkept(call.idempotency_key()) {
        return match spill {
            Some(spill) => spill.bound(&call, unkept, &outbox).await,
            None => Ran::whole(unkept),
        };
    }
    let ran = caught(Box::pin(run(order))).await;
    let ran = ran.unwrap_or_else(|Panicked| Ran::Done(panicked(&call)));
    let (mut result, fatal, spill) = match (ran, spill) {
        (Ran::Done(result), Some(spill)) if spill.is_too_long(&result) => (result, None, spill),
        (Ran::Fatal(result, error), Some(spill)) if spill.is_too_long(&result) => {
            (result, Some(error), spill)
        }
        (ran, _) => return ran,
    };
    let text = Bytes::from(std::mem::take(&mut result.text));
    let unkept = Unkept {
        result,
        text,
        fatal,
    };
    spill.bound(&call, unkept, &outbox).await
}

impl Ran {
    pub(crate) fn of(result: ToolResult, fatal: Option<ToolError>) -> Self {
        match fatal {
            Some(error) => Ran::Fatal(result, error),
            None => Ran::Done(result),
        }
    }

    fn whole(unkept: Unkept) -> Self {
        let Unkept {
            mut result,
            text,
            fatal,
        } = unkept;
        result.text = String::from_utf8_lossy(&text).into_owned();
        Ran::of(result, fatal)
    }
}

/// Ends a run for its tool, also when it is dropped.
struct Ending(Arc<RunContext>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs a call, or carries on the one that paused on a task, until it ends, asks the user something
/// or has had its time.
async fn run(order: Order) -> Ran {
    let Order {
        tool,
        call,
        context,
        task,
        max_run_time,
        deadline: _deadline,
        ..
    } = order;
    let blocking = tool.definition().is_blocking();
    let resumes = task.is_some();
    let call = call.attached(context.clone());
    let _ending = Ending(context.clone());
    let run = async {
        match blocking {
            true => off_thread(tool, call.clone(), task).await,
            false => Ok(start(&*tool, &call, task).await),
        }
    };
    let mut run = pin!(run);
    let run = poll_fn(|waker| match run.as_mut().poll(waker) {
        Poll::Ready(reply) => Poll::Ready(Ok(reply)),
        Poll::Pending => match context.open_question(waker.waker()) {
            Some(question) => Poll::Ready(Err(question)),
            None => Poll::Pending,
        },
    });
    let ran = match max_run_time {
        Some(limit) => tokio::time::timeout(limit, run).await.map_err(|_| limit),
        None => Ok(run.await),
    };
    match ran {
        Ok(Ok(Ok(Ok(output)))) => finished(&call, output),
        Ok(Ok(Ok(Err(error)))) => failed(&call, error),
        Ok(Ok(Err(Panicked))) => Ran::Done(panicked(&call)),
        Ok(Err((at, question))) => Ran::Asked(at, question),
        Err(limit) => Ran::Done(ToolResult::new(
            &call,
            Outcome::TimedOut,
            timed_out(limit, blocking, resumes),
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
        _ => Ran::Done(result),
    }
}

/// What the model is told of arguments that are not its own, which stand in its answer unchanged.
fn edited(call: &ToolCall) -> String {
    const LONGEST: usize = 2_000;
    match call.arguments.as_str() {
        long if long.len() > LONGEST => {
            "\n\n(A person changed the arguments before this ran.)".into()
        }
        arguments => {
            format!("\n\n(A person changed the arguments to {arguments} before this ran.)")
        }
    }
}

fn panicked(call: &ToolCall) -> ToolResult {
    ToolResult::new(call, Outcome::Error, "The tool failed unexpectedly.")
}

fn timed_out(limit: Duration, blocking: bool, resumes: bool) -> String {
    let rest = match (blocking, resumes) {
        (true, _) => " It could not be stopped and may still be running.",
        (false, true) => " Asking for its task was stopped; the task may go on elsewhere.",
        (false, false) => " It was stopped.",
    };
    format!("The tool did not finish within {limit:?}.{rest}")
}

/// The future panicked; what it said is not kept.
pub(crate) struct Panicked;

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
pub(crate) async fn caught<T>(
    mut future: Pin<Box<dyn Future<Output = T> + Send + '_>>,
) -> Result<T, Panicked> {
    poll_fn(|context| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => {
                // What it carries may panic in its turn.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
                Poll::Ready(Err(Panicked))
            }
        }
    })
    .await
}
