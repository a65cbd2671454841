//! C3, C5, C7, R6, R8, R10, and CASES.md I and J as far as they need no store: pauses, cancellation, concurrency.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::chat::{Log, assert_paired, echo, outcomes, results, set, tool};
use tokio::sync::Notify;
use tool_core::testing::ScriptedModel;
use tool_core::{
    Chat, ChatErrorKind, Concurrency, Event, FunctionTool, Outcome, Schema, Task, Tool, ToolCall,
    ToolDefinition, ToolError, ToolFuture, ToolOptions, ToolOutput, Turn,
};

fn refund(log: &Log) -> Arc<dyn Tool> {
    let log = log.clone();
    let schema = json!({ "type": "object", "properties": { "order": { "type": "integer" } }, "required": ["order"] });
    let tool = FunctionTool::new("refund", "Refunds.", schema, move |arguments: Value| {
        log.add(format!("refunded {}", arguments["order"]));
        async { Ok::<_, ToolError>("refunded") }
    });
    Arc::new(tool.unwrap().define(ToolDefinition::approval_required))
}

#[tokio::test]
async fn protected_calls_wait_and_the_others_run_c3_b107_b115() {
    let log = Log::default();
    let calls = [
        ("refund", json!({ "order": 1 })),
        ("safe", json!({})),
        ("refund", json!({ "order": 2 })),
    ];
    let model = ScriptedModel::new().calls(calls).text("done");
    let mut chat = Chat::new(model.clone()).with_tools(set([refund(&log), echo("safe")]));
    let turn = chat.ask("go").await.unwrap();
    let ids: Vec<_> = turn
        .pending_approvals()
        .iter()
        .map(|call| call.id.clone())
        .collect();
    assert_eq!(ids, ["call_0_0", "call_0_2"]);
    assert!(chat.awaiting_approval() && !chat.is_complete());
    assert_eq!(
        chat.ask("another").await.unwrap_err().kind(),
        ChatErrorKind::PendingToolCalls
    );
    assert!(
        matches!(chat.complete().await.unwrap(), Turn::Paused(_)),
        "still waiting"
    );
    assert!(log.lines().is_empty());
    chat.deny_with_reason("call_0_2", "too much").unwrap();
    for call in turn.pending_approvals().iter().take(1) {
        chat.approve(call).unwrap();
    }
    assert_eq!(
        chat.approve("call_0_2").unwrap_err().kind(),
        ChatErrorKind::NoSuchCall,
        "the first decision stands"
    );
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(log.lines(), ["refunded 1"]);
    assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Ok, Outcome::Denied]);
    let denied: Value = serde_json::from_str(&results(&chat)[2].text).unwrap();
    assert_eq!(denied["reason"], "too much");
    assert_paired(chat.messages());
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_person_is_not_asked_about_invalid_arguments_b116() {
    let log = Log::default();
    let model = ScriptedModel::new()
        .call("refund", json!({ "order": "x" }))
        .text("sorry");
    let mut chat = Chat::new(model).with_tools(set([refund(&log)]));
    assert_eq!(chat.ask("go").await.unwrap().text(), "sorry");
    assert!(
        results(&chat)[0]
            .text
            .starts_with("Invalid tool arguments: /order")
    );
}

#[tokio::test]
async fn a_decision_on_a_call_that_does_not_wait_is_an_error_c3() {
    let mut chat = Chat::new(ScriptedModel::new());
    for error in [chat.approve("nope"), chat.deny("nope")] {
        assert_eq!(error.unwrap_err().kind(), ChatErrorKind::NoSuchCall);
    }
}

struct Slow {
    definition: ToolDefinition,
    started: Arc<Notify>,
    finished: Arc<AtomicBool>,
}

impl Slow {
    fn new(
        definition: impl FnOnce(ToolDefinition) -> ToolDefinition,
    ) -> (Self, Arc<Notify>, Arc<AtomicBool>) {
        let definition = definition(ToolDefinition::new(
            "slow",
            "Waits for ever.",
            Schema::empty(),
        ));
        let slow = Slow {
            definition,
            started: Arc::default(),
            finished: Arc::default(),
        };
        let (started, finished) = (slow.started.clone(), slow.finished.clone());
        (slow, started, finished)
    }
}

impl Tool for Slow {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn invoke<'a>(&'a self, _: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            self.started.notify_one();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            self.finished.store(true, Ordering::SeqCst);
            Ok(ToolOutput::text("late"))
        })
    }
}

#[tokio::test]
async fn cancel_leaves_a_valid_transcript_c7_b94_b124() {
    for concurrency in [Concurrency::Sequential, Concurrency::AtMost(2)] {
        let (slow, started, finished) = Slow::new(|definition| definition);
        let model = ScriptedModel::new()
            .calls([
                ("fast", json!({})),
                ("slow", json!({})),
                ("late", json!({})),
            ])
            .text("done");
        let mut chat = Chat::new(model)
            .with_tools(set([echo("fast"), Arc::new(slow), echo("late")]))
            .with_tool_options(ToolOptions::new().concurrency(concurrency));
        let cancel = chat.cancel_handle();
        let mut events = chat.events();
        let (turn, ()) = tokio::join!(chat.ask("go"), async {
            started.notified().await;
            cancel.cancel();
        });
        assert_eq!(turn.unwrap(), Turn::Cancelled);
        let expected = match concurrency {
            Concurrency::Sequential => [Outcome::Ok, Outcome::Cancelled, Outcome::NotStarted],
            _ => [Outcome::Ok, Outcome::Cancelled, outcomes(&chat)[2]],
        };
        assert_eq!(outcomes(&chat), expected);
        assert_paired(chat.messages());
        let mut cancelled = 0;
        while let Some(event) = events.try_next() {
            cancelled += usize::from(event == Event::Cancelled);
        }
        assert_eq!(cancelled, 1);
        assert!(!finished.load(Ordering::SeqCst));
        assert_eq!(chat.ask("and now?").await.unwrap().text(), "done");
        assert_paired(chat.messages());
    }
}

#[tokio::test]
async fn a_dropped_run_leaves_a_transcript_that_goes_on_b94() {
    let (slow, started, _) = Slow::new(|definition| definition);
    let model = ScriptedModel::new()
        .calls([("slow", json!({})), ("late", json!({}))])
        .text("done");
    let mut chat = Chat::new(model).with_tools(set([Arc::new(slow), echo("late")]));
    tokio::select! {
        _ = chat.ask("go") => panic!("it waits for ever"),
        () = started.notified() => {}
    }
    assert_eq!(chat.ask("and now?").await.unwrap().text(), "done");
    assert_eq!(outcomes(&chat), [Outcome::Cancelled, Outcome::NotStarted]);
    assert!(results(&chat)[0].text.contains("may have taken effect"));
    assert_paired(chat.messages());
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_at_its_deadline_r10_b121() {
    let (slow, _, finished) =
        Slow::new(|definition| definition.with_max_run_time(Duration::from_secs(90)));
    let model = ScriptedModel::new().call("slow", json!({})).text("done");
    let mut chat = Chat::new(model).with_tools(set([Arc::new(slow) as Arc<dyn Tool>]));
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::TimedOut]);
    assert_eq!(
        results(&chat)[0].text,
        "The tool did not finish within 90s. It was stopped."
    );
    tokio::time::sleep(Duration::from_secs(7200)).await;
    assert!(!finished.load(Ordering::SeqCst));
}

#[tokio::test]
async fn concurrent_calls_run_together_and_their_results_stay_in_order_c5_b106() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let slow = {
        let (running, most) = (running.clone(), most.clone());
        tool("slow", move || {
            let (running, most) = (running.clone(), most.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                tokio::time::sleep(Duration::from_millis(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(1.into())
            }
        })
    };
    for (concurrency, expected) in [
        (Concurrency::Sequential, 1),
        (Concurrency::AtMost(3), 3),
        (Concurrency::Unbounded, 20),
    ] {
        most.store(0, Ordering::SeqCst);
        let model = ScriptedModel::new()
            .calls((0..20).map(|_| ("slow", json!({}))))
            .text("done");
        let mut chat = Chat::new(model)
            .with_tools(set([slow.clone()]))
            .with_tool_options(ToolOptions::new().concurrency(concurrency));
        chat.ask("go").await.unwrap();
        assert_eq!(most.load(Ordering::SeqCst), expected);
        assert_paired(chat.messages());
    }
}

#[tokio::test]
async fn siblings_of_a_fatal_call_are_stopped_and_said_to_be_b97() {
    let (slow, started, finished) = Slow::new(|definition| definition);
    let fatal = tool("fatal", move || {
        let started = started.clone();
        async move {
            started.notified().await;
            Err(ToolError::fatal("over"))
        }
    });
    let model = ScriptedModel::new().calls([("slow", json!({})), ("fatal", json!({}))]);
    let mut chat = Chat::new(model)
        .with_tools(set([Arc::new(slow), fatal]))
        .with_tool_options(ToolOptions::new().concurrency(Concurrency::Unbounded));
    assert_eq!(
        chat.ask("go").await.unwrap_err().kind(),
        ChatErrorKind::FatalTool
    );
    assert_eq!(outcomes(&chat), [Outcome::Cancelled, Outcome::Error]);
    assert!(!finished.load(Ordering::SeqCst));
    assert_paired(chat.messages());
}

struct Job(ToolDefinition);

impl Tool for Job {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn invoke<'a>(&'a self, _: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async { Ok(ToolOutput::task(Task::new(0).with_message("queued"))) })
    }

    fn resume<'a>(&'a self, task: Task, _: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            match task.data.as_i64() {
                Some(2) => Ok(ToolOutput::text("built")),
                Some(n) => Ok(ToolOutput::task(Task::new(n + 1))),
                None => Err(ToolError::new("lost")),
            }
        })
    }
}

#[tokio::test]
async fn a_task_pauses_and_each_complete_resumes_it_once_r8() {
    let model = ScriptedModel::new()
        .calls([("job", json!({})), ("ok", json!({}))])
        .text("done");
    let job = Job(ToolDefinition::new("job", "Builds.", Schema::empty()));
    let mut chat = Chat::new(model).with_tools(set([Arc::new(job), echo("ok")]));
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.pending_tasks()[0].1.message.as_deref(), Some("queued"));
    for expected in [1, 2] {
        let turn = chat.complete().await.unwrap();
        assert_eq!(turn.pending_tasks()[0].1.data, expected);
    }
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(results(&chat)[0].text, "built");
    assert_paired(chat.messages());
}

struct Reports(ToolDefinition);

impl Tool for Reports {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            call.progress("half way", 1, 2_u64);
            call.progress_message("nearly");
            Ok(ToolOutput::text(format!("{}", call.is_detached())))
        })
    }
}

#[tokio::test]
async fn progress_reaches_callbacks_and_events_but_not_the_model_r6() {
    let log = Log::default();
    let seen = log.clone();
    let model = ScriptedModel::new().call("reports", json!({})).text("done");
    let tool = Arc::new(Reports(ToolDefinition::new(
        "reports",
        "Reports.",
        Schema::empty(),
    )));
    let mut chat = Chat::new(model)
        .with_tools(set([tool.clone() as Arc<dyn Tool>]))
        .after_tool_progress(move |progress| {
            seen.add(format!(
                "{} {:?} {:?}",
                progress.message, progress.value, progress.total
            ))
        });
    let mut events = chat.events();
    chat.ask("go").await.unwrap();
    assert_eq!(
        log.lines(),
        ["half way Some(1.0) Some(2.0)", "nearly None None"]
    );
    let mut progress = 0;
    while let Some(event) = events.try_next() {
        progress += usize::from(matches!(event, Event::Progress(_)));
    }
    assert_eq!(progress, 2);
    assert_eq!(results(&chat)[0].text, "false");
    assert_eq!(
        tool.call(json!({})).await.unwrap().as_text(),
        "true",
        "outside a chat it goes nowhere"
    );
}

#[tokio::test]
async fn a_blocking_tool_does_not_block_the_chat_and_its_deadline_tells_the_truth_b122() {
    struct Blocks(
        ToolDefinition,
        Arc<(std::sync::Mutex<bool>, std::sync::Condvar)>,
    );
    impl Tool for Blocks {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }
        fn invoke<'a>(&'a self, _: &'a ToolCall) -> ToolFuture<'a> {
            Box::pin(async move {
                let (lock, condition) = &*self.1;
                let mut released = lock.lock().unwrap();
                while !*released {
                    released = condition.wait(released).unwrap();
                }
                Ok(ToolOutput::text("released"))
            })
        }
    }
    let gate = Arc::new((std::sync::Mutex::new(false), std::sync::Condvar::new()));
    let definition = ToolDefinition::new("blocks", "Blocks.", Schema::empty()).with_blocking();
    let model = ScriptedModel::new().call("blocks", json!({})).text("done");
    let limited = definition
        .clone()
        .with_max_run_time(Duration::from_millis(1));
    let mut chat = Chat::new(model).with_tools(set([
        Arc::new(Blocks(limited, gate.clone())) as Arc<dyn Tool>
    ]));
    chat.ask("go").await.unwrap();
    assert!(results(&chat)[0].text.ends_with("may still be running."));
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    let model = ScriptedModel::new().call("blocks", json!({})).text("done");
    let mut chat =
        Chat::new(model).with_tools(set([Arc::new(Blocks(definition, gate)) as Arc<dyn Tool>]));
    chat.ask("go").await.unwrap();
    assert_eq!(results(&chat)[0].text, "released");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_take_as_long_as_one_c5_b106() {
    let slow = tool("slow", || async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(1.into())
    });
    for (concurrency, expected) in [
        (Concurrency::Unbounded, 50),
        (Concurrency::AtMost(10), 500),
        (Concurrency::Sequential, 5000),
    ] {
        let model = ScriptedModel::new()
            .calls((0..100).map(|_| ("slow", json!({}))))
            .text("done");
        let mut chat = Chat::new(model)
            .with_tools(set([slow.clone()]))
            .with_tool_options(ToolOptions::new().concurrency(concurrency));
        let began = tokio::time::Instant::now();
        chat.ask("go").await.unwrap();
        // The clock is paused: it shows how long the calls waited, not how busy the machine is.
        let waited = began.elapsed().as_millis();
        assert!(
            (expected..expected + expected / 2).contains(&waited),
            "{concurrency:?}: {waited} ms"
        );
    }
}

#[tokio::test]
async fn a_slow_listener_never_blocks_a_tool_c6() {
    let model = ScriptedModel::new().call("reports", json!({})).text("done");
    let tool = Arc::new(Floods(ToolDefinition::new(
        "reports",
        "Reports.",
        Schema::empty(),
    )));
    let mut chat = Chat::new(model).with_tools(set([tool as Arc<dyn Tool>]));
    let mut events = chat.events();
    let dropped = chat.events();
    drop(dropped);
    chat.ask("go").await.unwrap();
    let mut progress = 0;
    while let Some(event) = events.try_next() {
        progress += usize::from(matches!(event, Event::Progress(_)));
    }
    assert_eq!(progress, 10_000);
}

struct Floods(ToolDefinition);

impl Tool for Floods {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            for step in 0..10_000_u64 {
                call.progress("still at it", step, f64::NAN);
            }
            Ok(ToolOutput::text("done"))
        })
    }
}

#[tokio::test]
async fn an_approved_call_is_checked_again_when_it_runs_c3_b109() {
    let log = Log::default();
    let model = ScriptedModel::new()
        .call("refund", json!({ "order": 1 }))
        .text("sorry");
    let mut chat = Chat::new(model).with_tools(set([refund(&log)]));
    let turn = chat.ask("go").await.unwrap();
    chat.approve(&turn.pending_approvals()[0]).unwrap();
    // The tool is another one by the time the call runs: it wants a reason too.
    let schema = json!({ "type": "object", "properties": { "order": { "type": "integer" }, "reason": { "type": "string" } }, "required": ["order", "reason"] });
    let run = async |_: Value| Ok::<_, ToolError>("refunded");
    let stricter = FunctionTool::new("refund", "Refunds.", schema, run).unwrap();
    let mut chat = chat
        .without_tools()
        .with_tools(set([Arc::new(stricter) as Arc<dyn Tool>]));
    assert_eq!(chat.complete().await.unwrap().text(), "sorry");
    assert_eq!(
        results(&chat)[0].text,
        "Invalid tool arguments: missing `reason` (a string)"
    );
    assert!(log.lines().is_empty());
}

#[tokio::test]
async fn a_closure_can_have_the_call_r1_r6() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let count = FunctionTool::<Value, _>::with_call(
        "count",
        "Counts.",
        schema,
        |arguments: Value, call: ToolCall| async move {
            call.progress("counting", 1, 2);
            Ok::<_, ToolError>(format!("{} {}", arguments["n"], call.name))
        },
    );
    let log = Log::default();
    let seen = log.clone();
    let mut chat = Chat::new(
        ScriptedModel::new()
            .call("count", json!({ "n": 3 }))
            .text("done"),
    )
    .with_tools(set([Arc::new(count.unwrap()) as Arc<dyn Tool>]))
    .after_tool_progress(move |progress| seen.add(&progress.message));
    chat.ask("go").await.unwrap();
    assert_eq!(results(&chat)[0].text, "3 count");
    assert_eq!(log.lines(), ["counting"]);
}
