//! R10, C5: what needs a Tokio runtime says so, before a tool runs, and the chat goes on within one.

mod support;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::json;
use support::chat::{assert_paired, results};
use tokio::runtime::Builder;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, ChatError, ChatErrorKind, Config, ToolOptions, Turn, tool, tools};

/// Blocks.
#[tool]
fn block() -> &'static str {
    "ok"
}

/// Has a deadline.
#[tool(max_run_time = "1s")]
async fn limited() -> &'static str {
    "ok"
}

/// Needs nothing.
#[tool]
async fn plain() -> &'static str {
    "ok"
}

fn chat(name: &str) -> Chat {
    let model = ScriptedModel::new().call(name, json!({})).text("done");
    Chat::new(model).with_tools(tools![Block, Limited, Plain])
}

/// Runs what never has to wait, without any runtime.
fn bare(run: impl Future<Output = Result<Turn, ChatError>>) -> Result<Turn, ChatError> {
    match pin!(run).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(turn) => turn,
        Poll::Pending => panic!("it waits"),
    }
}

/// What it says without what it needs; with it, it goes on to its end.
fn refused(mut chat: Chat, without: impl Fn(&mut Chat) -> Result<Turn, ChatError>) -> String {
    let error = without(&mut chat).unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Configuration, "{error}");
    assert!(results(&chat).is_empty());
    let whole = Builder::new_current_thread().enable_all().build().unwrap();
    let turn = whole.block_on(chat.complete()).unwrap();
    assert_eq!(turn.to_string(), "done");
    assert!(results(&chat).iter().all(|result| result.text == "ok"));
    assert_paired(chat.messages());
    error.to_string()
}

#[test]
fn a_tool_that_needs_a_runtime_says_so_outside_of_one() {
    let outside = |chat: &mut Chat| bare(chat.ask("go"));
    let error = refused(chat("block"), outside);
    assert!(
        error.starts_with("the tool `block` is no `async fn`"),
        "{error}"
    );
    assert!(
        error.ends_with("needs a Tokio runtime: call this within one"),
        "{error}"
    );
    let error = refused(chat("limited"), outside);
    assert!(
        error.starts_with("the tool `limited` has a `max_run_time`"),
        "{error}"
    );
    let concurrent = chat("plain").with_tool_options(ToolOptions::new().concurrency(2));
    let error = refused(concurrent, outside);
    assert!(
        error.starts_with("tools run concurrently in a Tokio runtime only"),
        "{error}"
    );
}

#[test]
fn a_deadline_needs_the_timers_of_the_runtime() {
    let without_timers = |chat: &mut Chat| {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(chat.ask("go"))
    };
    let config = Config::new().max_run_time(Some(Duration::from_secs(1)));
    let several = |concurrency| {
        let calls = ["plain", "limited", "limited"].map(|name| (name, json!({})));
        Chat::new(ScriptedModel::new().calls(calls).text("done"))
            .with_tools(tools![Limited, Plain])
            .with_tool_options(ToolOptions::new().concurrency(concurrency))
    };
    for chat in [
        chat("limited"),
        chat("plain").with_config(config),
        several(1),
        several(4),
    ] {
        let error = refused(chat, without_timers);
        assert!(
            error.contains("build it with `enable_time` or `enable_all`"),
            "{error}"
        );
    }
    let turn = without_timers(&mut chat("block")).unwrap();
    assert_eq!(turn.to_string(), "done");
}

#[test]
fn what_needs_no_runtime_runs_without() {
    let mut chat = chat("plain");
    assert_eq!(bare(chat.ask("go")).unwrap().to_string(), "done");
}
