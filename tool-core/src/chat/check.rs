//! Mistakes in the set-up of a chat, found before anything is done.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::Chat;
use crate::{ChatError, ChatErrorKind, Tool, ToolChoice};

impl Chat {
    /// Whether the set-up makes sense.
    pub(super) fn check(&self) -> Result<(), ChatError> {
        let only = self.tool_options.only.as_deref();
        let absent = only
            .into_iter()
            .flatten()
            .find(|name| self.tools.get(name).is_none());
        let fault = match (&self.fault, &self.tool_options.choice) {
            (Some(fault), _) => fault.clone(),
            (None, _) if absent.is_some() => {
                let names: Vec<&str> = self.tools.names().collect();
                format!(
                    "only `{}` is to be called, among others, but the chat has only: {}",
                    absent.map_or("", String::as_str),
                    names.join(", ")
                )
            }
            (None, ToolChoice::Tool(name)) if only.is_some_and(|only| !only.contains(name)) => {
                format!(
                    "the tool `{name}` is to be chosen, but it is not among those that may be called"
                )
            }
            _ if self.tool_options.calls.limit() == Some(0) => {
                "no calls at all are allowed; use `ToolChoice::None` for that".into()
            }
            (None, ToolChoice::Required)
                if self.tools.is_empty() && !self.config.request_options.offers_tools() =>
            {
                "a tool is required, but the chat has no tools".into()
            }
            (None, ToolChoice::Tool(name)) if self.tools.get(name).is_none() => {
                let offered = |tool: &&Arc<dyn Tool>| !tool.definition().is_deferred();
                let names: Vec<&str> = self
                    .tools
                    .iter()
                    .filter(offered)
                    .map(|tool| tool.name())
                    .collect();
                format!(
                    "the tool `{name}` is to be chosen, but the chat has only: {}",
                    names.join(", ")
                )
            }
            (None, ToolChoice::Tool(name)) if self.tools.visible().get(name).is_none() => {
                format!(
                    "the tool `{name}` is to be chosen, but it is deferred: offer it from the start"
                )
            }
            _ => return Ok(()),
        };
        Err(ChatError::new(ChatErrorKind::Configuration, fault))
    }

    /// Whether the calls of the last answer can run where this is called.
    pub(super) fn check_runtime(&self) -> Result<(), ChatError> {
        let is_in_tokio = Handle::try_current().is_ok();
        let error = |text| Err(ChatError::new(ChatErrorKind::Configuration, text));
        if self.concurrency() > 1 && !is_in_tokio {
            return error(
                "tools run concurrently in a Tokio runtime only: call this within one".into(),
            );
        }
        let only = self.tool_options.only.as_deref();
        for pending in self.round.calls.iter().filter(|call| !call.is_done()) {
            let Some(tool) = self.tools.find_among(&pending.call.name, only) else {
                continue;
            };
            let definition = tool.definition();
            let limit = definition.max_run_time().or(self.config.max_run_time);
            let needs = match (definition.is_blocking(), limit) {
                (true, _) => "is no `async fn`, so it runs on a thread of its own",
                (false, Some(_)) => "has a `max_run_time`",
                (false, None) => continue,
            };
            let name = tool.name();
            if !is_in_tokio {
                return error(format!(
                    "the tool `{name}` {needs}, which needs a Tokio runtime: call this within one"
                ));
            }
            if limit.is_some() && !has_timers() {
                return error(format!(
                    "the tool `{name}` has a `max_run_time`, which needs the timers of the Tokio runtime: build it with `enable_time` or `enable_all`"
                ));
            }
        }
        Ok(())
    }
}

/// Tokio tells only by a panic.
fn has_timers() -> bool {
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}
