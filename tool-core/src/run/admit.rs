//! Which calls may run: what is refused, what waits for a decision, and what was decided.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use super::driver::Driver;
use super::execute::caught;
use super::{Event, Hub, PendingCall, Round};
use crate::{Arguments, Decision, Outcome, Tool, ToolCall, ToolResult, ToolSet};

/// Whether a call needs a decision; or why it cannot run.
pub(super) fn admission(
    index: usize,
    call: &ToolCall,
    driver: &Driver<'_>,
) -> Result<bool, ToolResult> {
    if call.server.is_some() {
        return Ok(true);
    }
    if let Some(limit) = driver.calls.limit()
        && index >= limit
    {
        let text = format!(
            "Only {limit} call(s) can run at a time, so that this one did not. Ask for fewer at once."
        );
        return Err(ToolResult::new(call, Outcome::NotStarted, text));
    }
    let tools = driver.tools;
    let Some(tool) = tools.find(&call.name) else {
        return Err(unknown(call, tools));
    };
    if let Some(allowed) = driver.allowed
        && tools.get(&call.name).is_some()
        && !allowed.contains(&call.name)
    {
        let text = format!(
            "The tool `{}` cannot be called now. These can: {}.",
            call.name,
            allowed.join(", ")
        );
        return Err(ToolResult::new(call, Outcome::Error, text));
    }
    // Predicates judge, and people see, only what the gate lets through.
    match checked(&*tool, call) {
        Ok(checked) => Ok(needs_approval(&*tool, &checked)),
        Err(text) => Err(ToolResult::new(call, Outcome::Error, text)),
    }
}

/// The call with its arguments as the gate repairs them, which are those that the tool will see.
pub(super) fn checked(tool: &dyn Tool, call: &ToolCall) -> Result<ToolCall, String> {
    match tool.definition().check(call) {
        Ok(arguments) => {
            Ok(call.with_arguments(Arguments::from(serde_json::Value::Object(arguments))))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Asks the predicate. One that panics has not said that the call is harmless.
pub(super) fn needs_approval(tool: &dyn Tool, call: &ToolCall) -> bool {
    catch_unwind(AssertUnwindSafe(|| tool.requires_approval(call))).unwrap_or(true)
}

pub(super) fn unknown(call: &ToolCall, tools: &ToolSet) -> ToolResult {
    let visible = tools.visible();
    let names: Vec<&str> = visible.names().collect();
    let text = match names.as_slice() {
        [] => format!("There is no tool `{}`; there are no tools.", call.name),
        names => format!(
            "There is no tool `{}`. The tools are: {}.",
            call.name,
            names.join(", ")
        ),
    };
    ToolResult::new(call, Outcome::Error, text)
}

/// A decision that is being read; `None`: the application keeps none, or it could not be read.
type Reading<'a> = Pin<Box<dyn Future<Output = Option<Decision>> + Send + 'a>>;

/// Reads the decisions that the application keeps, all at once. One that cannot be read is still to
/// come.
pub(super) async fn consult(round: &mut Round, tools: &ToolSet, hub: &Hub) {
    let mut readings: Vec<(usize, Option<Reading<'_>>)> = Vec::new();
    for (index, pending) in round.calls.iter().enumerate() {
        if let Some(tool) = resolver(pending, tools) {
            let call = checked(&*tool, &pending.approved_call()).unwrap_or(pending.call.clone());
            readings.push((index, Some(Box::pin(read(tool, call, hub)))));
        }
    }
    let mut decided = Vec::new();
    poll_fn(|context| {
        for (index, slot) in &mut readings {
            if let Some(reading) = slot
                && let Poll::Ready(decision) = reading.as_mut().poll(context)
            {
                *slot = None;
                decided.extend(decision.map(|decision| (*index, decision)));
            }
        }
        match readings.iter().all(|(_, reading)| reading.is_none()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    drop(readings);
    for (index, decision) in decided {
        round.calls[index].decide(decision);
    }
}

fn resolver(pending: &PendingCall, tools: &ToolSet) -> Option<Arc<dyn Tool>> {
    let asks = pending.awaits_approval() && pending.call.server.is_none();
    tools.find(&pending.call.name).filter(|_| asks)
}

async fn read(tool: Arc<dyn Tool>, call: ToolCall, hub: &Hub) -> Option<Decision> {
    let reading = catch_unwind(AssertUnwindSafe(|| tool.approval(&call)));
    let decision = match reading {
        Ok(None) => return None,
        Ok(Some(reading)) => caught(reading).await.ok(),
        Err(_) => None,
    };
    if decision.is_none() {
        let name = &call.name;
        hub.say(|| {
            Event::Warning(format!(
                "the approval resolver of `{name}` panicked; the call still waits"
            ))
        });
    }
    decision
}
