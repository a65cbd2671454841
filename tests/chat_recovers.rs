//! C1, C3, C7, R4, R8: what a tester found, and what must not come back.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::chat::{assert_paired, echo, outcomes, results, set, tool};
use tokio::sync::Semaphore;
use tool_core::model::{DeltaSink, ModelFuture, Request};
use tool_core::testing::ScriptedModel;
use tool_core::{
    AssistantMessage, Attachment, Block, Calls, Chat, ChatErrorKind, Concurrency, Config, Event,
    FunctionTool, Limits, Message, Model, Outcome, Task, TaskPoll, Tool, ToolCall, ToolChoice,
    ToolError, ToolOptions, ToolResult, Turn, tool, tools,
};

struct Export {
    runs: Arc<AtomicUsize>,
    resumes: Arc<AtomicUsize>,
    resuming: Arc<Semaphore>,
    slow: Arc<AtomicUsize>,
}

#[tool]
impl Export {
    /// Exports.
    async fn execute(&self) -> Task {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Task::new("job 7")
    }

    async fn resume(&self, task: Task) -> TaskPoll<String> {
        self.resumes.fetch_add(1, Ordering::SeqCst);
        self.resuming.add_permits(1);
        if self.slow.swap(0, Ordering::SeqCst) == 1 {
            std::future::pending::<()>().await;
        }
        TaskPoll::Ready(format!("exported by {}", task.data))
    }
}

#[tokio::test]
async fn a_dropped_resume_can_be_resumed_r8() {
    let export = Export {
        runs: Arc::default(),
        resumes: Arc::default(),
        resuming: Arc::new(Semaphore::new(0)),
        slow: Arc::new(AtomicUsize::new(1)),
    };
    let (runs, resumes, resuming) = (
        export.runs.clone(),
        export.resumes.clone(),
        export.resuming.clone(),
    );
    let mut chat = Chat::new(ScriptedModel::new().call("export", json!({})).text("done"))
        .with_tools(tools![export]);
    assert!(matches!(chat.ask("go").await.unwrap(), Turn::Paused(_)));
    tokio::select! {
        _ = chat.complete() => panic!("it hangs"),
        permit = resuming.acquire() => permit.unwrap().forget(),
    }
    assert_eq!(chat.pending_tasks().len(), 1, "the task is still there");
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(results(&chat)[0].text, "exported by \"job 7\"");
    assert_eq!(
        (runs.load(Ordering::SeqCst), resumes.load(Ordering::SeqCst)),
        (1, 2)
    );
}

/// Never ends.
struct Endless(Arc<AtomicUsize>);

#[tool]
impl Endless {
    /// Never ends.
    async fn execute(&self) -> Task {
        Task::new(1)
    }

    async fn resume(&self, task: Task) -> TaskPoll<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        TaskPoll::Pending(task)
    }
}

#[tokio::test]
async fn step_until_a_turn_stops_at_a_task_c1_r8() {
    let resumes = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().call("endless", json!({}));
    let mut chat = Chat::new(model).with_tools(tools![Endless(resumes.clone())]);
    chat.ask_later("go").unwrap();
    for expected in [0, 1, 2] {
        let mut steps = 0;
        let turn = loop {
            steps += 1;
            assert!(steps < 10, "no turn");
            if let Some(turn) = chat.step().await.unwrap() {
                break turn;
            }
        };
        assert_eq!(turn.pending_tasks().len(), 1);
        assert_eq!(resumes.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn a_sibling_that_finished_keeps_its_result_when_the_run_is_dropped_c5() {
    let runs = Arc::new(AtomicUsize::new(0));
    let finished = Arc::new(Semaphore::new(0));
    let quick = {
        let (runs, finished) = (runs.clone(), finished.clone());
        tool("quick", move || {
            runs.fetch_add(1, Ordering::SeqCst);
            finished.add_permits(1);
            async { Ok("kept".into()) }
        })
    };
    let never = tool("never", std::future::pending);
    for go_on in [true, false] {
        let model = ScriptedModel::new()
            .calls([("quick", json!({})), ("never", json!({}))])
            .text("done");
        let mut chat = Chat::new(model)
            .with_tools(set([quick.clone(), never.clone()]))
            .with_config(Config::new().concurrency(Concurrency::Unbounded));
        tokio::select! {
            _ = chat.ask("go") => panic!("it hangs"),
            () = async {
                finished.acquire().await.unwrap().forget();
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            } => {}
        }
        runs.store(0, Ordering::SeqCst);
        if go_on {
            let cancel = chat.cancel_handle();
            let (turn, ()) = tokio::join!(chat.complete(), async {
                tokio::task::yield_now().await;
                cancel.cancel();
            });
            assert_eq!(turn.unwrap(), Turn::Cancelled);
        }
        chat.ask("and now?").await.unwrap();
        assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Cancelled]);
        assert_eq!(
            (results(&chat)[0].text.as_str(), runs.load(Ordering::SeqCst)),
            ("kept", 0)
        );
        assert_paired(chat.messages());
    }
}

fn calls(ids: &[&str]) -> Message {
    let calls = ids
        .iter()
        .map(|id| Block::ToolCall(ToolCall::new(*id, "ok", "{}")));
    Message::Assistant(AssistantMessage {
        blocks: calls.collect(),
        ..AssistantMessage::default()
    })
}

fn result(id: &str) -> Message {
    Message::Tool(ToolResult {
        call_id: id.into(),
        name: "ok".into(),
        outcome: Outcome::Ok,
        text: "x".into(),
        attachments: Vec::new(),
    })
}

#[tokio::test]
async fn messages_from_elsewhere_become_a_valid_transcript_c1_b94_b95() {
    let user = || Message::User("go".into());
    let cases = [
        vec![user(), calls(&["a", "b"]), result("a")],
        vec![user(), calls(&["a", "b"])],
        vec![user(), calls(&["a", "b"]), result("b"), result("a")],
        vec![user(), calls(&["a", "b"]), result("b"), user()],
        vec![
            result("x"),
            user(),
            result("a"),
            calls(&["a"]),
            result("a"),
            result("a"),
            result("z"),
        ],
        vec![
            user(),
            calls(&["a"]),
            calls(&["b"]),
            result("b"),
            result("a"),
        ],
    ];
    for messages in cases {
        let shown = format!("{messages:?}");
        let model = ScriptedModel::new().text("done");
        let mut chat = Chat::new(model.clone())
            .with_tools(set([echo("ok")]))
            .with_messages(messages);
        assert_eq!(chat.complete().await.unwrap().text(), "done", "{shown}");
        assert_paired(&model.requests()[0].messages);
        assert_paired(chat.messages());
    }
}

/// Answers with two calls of one id.
struct Careless;

impl Model for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn provider(&self) -> &str {
        "testing"
    }

    fn generate<'a>(&'a self, request: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        let first = request.transcript.messages().len() == 1;
        Box::pin(async move {
            let call = |order: u32| {
                Block::ToolCall(ToolCall::new("a", "danger", json!({ "order": order })))
            };
            match first {
                true => Ok(AssistantMessage {
                    blocks: vec![call(1), call(2), call(3)],
                    ..AssistantMessage::default()
                }),
                false => Ok(AssistantMessage::from_text("done")),
            }
        })
    }
}

/// Is dangerous.
#[tool(requires_approval)]
async fn danger(order: u32) -> u32 {
    order
}

#[tokio::test]
async fn a_decision_hits_the_call_that_was_meant_also_when_ids_repeat_c3() {
    let mut chat = Chat::new(Careless).with_tools(tools![Danger]);
    let turn = chat.ask("go").await.unwrap();
    let pending = turn.pending_approvals();
    chat.deny(&pending[1]).unwrap();
    chat.approve(&pending[0]).unwrap();
    chat.approve(&pending[2]).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Denied, Outcome::Ok]);
    assert_eq!(results(&chat)[2].text, "3");
    assert_paired(chat.messages());
}

#[tokio::test]
async fn a_cancellation_is_used_up_by_every_verb_c7() {
    let mut chat = Chat::new(ScriptedModel::new().call("ok", json!({})).text("done"))
        .with_tools(set([echo("ok")]));
    chat.ask_later("go").unwrap();
    chat.cancel_handle().cancel();
    assert_eq!(chat.generate().await.unwrap(), None);
    assert!(chat.generate().await.unwrap().is_some());
    chat.cancel_handle().cancel();
    assert_eq!(chat.run_tools().await.unwrap(), Some(Turn::Cancelled));
    assert_eq!(outcomes(&chat), [Outcome::NotStarted]);
    assert_eq!(chat.complete().await.unwrap().text(), "done");
}

#[tokio::test]
async fn a_forced_choice_stays_until_a_tool_ran_c2_b100() {
    let model = ScriptedModel::new()
        .call("nope", json!({}))
        .call("strict", json!({ "x": 1 }))
        .call("ok", json!({}))
        .text("done");
    let schema = json!({ "type": "object", "properties": {} });
    let strict = FunctionTool::new("strict", "d", schema, async |_: serde_json::Value| {
        Ok::<_, ToolError>(1)
    })
    .unwrap();
    let mut chat = Chat::new(model.clone())
        .with_tools(set([echo("ok"), Arc::new(strict)]))
        .with_tool_options(ToolOptions::new().choice(ToolChoice::Required));
    chat.ask("go").await.unwrap();
    let choices: Vec<_> = model
        .requests()
        .into_iter()
        .map(|request| request.choice)
        .collect();
    assert_eq!(
        choices[..2],
        [ToolChoice::Required, ToolChoice::Required],
        "an unknown tool did not run"
    );
    assert_eq!(choices.last(), Some(&ToolChoice::Auto));
}

#[tokio::test]
async fn every_run_ends_with_an_event_c6() {
    let failing = Chat::new(ScriptedModel::new().error(tool_core::ModelError::new(
        tool_core::ModelErrorKind::Server,
        "down",
    )));
    let stopped = Chat::new(ScriptedModel::new().call("ok", json!({})))
        .with_tools(set([echo("ok")]))
        .with_limits(Limits::new().rounds(1));
    for (mut chat, wanted) in [(failing, "failed"), (stopped, "stopped")] {
        let mut events = chat.events();
        let _ = chat.ask("go").await;
        let mut last = None;
        while let Some(event) = events.try_next() {
            last = Some(event);
        }
        let kind = match last.unwrap() {
            Event::Failed(text) if text.contains("down") => "failed",
            Event::Stopped(_) => "stopped",
            other => panic!("{other:?}"),
        };
        assert_eq!(kind, wanted);
    }
}

#[tokio::test]
async fn no_calls_at_all_is_a_mistake_c2() {
    let mut chat = Chat::new(ScriptedModel::new())
        .with_tools(set([echo("ok")]))
        .with_tool_options(ToolOptions::new().calls(Calls::AtMost(0)));
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Configuration);
    assert!(error.to_string().contains("ToolChoice::None"));
}

/// May give a picture.
#[tool]
fn picture(there: bool) -> Option<Attachment> {
    there.then(|| Attachment::from_bytes("image/png", b"png"))
}

/// Gives words and a picture.
#[tool]
fn captioned() -> (&'static str, Attachment) {
    ("a caption", Attachment::from_bytes("image/png", b"png"))
}

/// Gives a value and a picture.
#[tool]
fn measured() -> Result<(serde_json::Value, Vec<Attachment>), std::io::Error> {
    Ok((
        json!({ "a": 1 }),
        vec![Attachment::from_url(
            "image/png",
            "https://example.org/a.png",
        )],
    ))
}

#[tokio::test]
async fn attachments_are_attached_in_every_shape_m10_r1() {
    let output = Picture.call(json!({ "there": true })).await.unwrap();
    assert_eq!(
        (output.attachments().len(), output.as_text()),
        (1, "(see the attachment)")
    );
    assert_eq!(
        Picture
            .call(json!({ "there": false }))
            .await
            .unwrap()
            .as_text(),
        "null"
    );
    let output = Captioned.call(json!({})).await.unwrap();
    assert_eq!(
        (output.attachments().len(), output.as_text()),
        (1, "a caption")
    );
    let output = Measured.call(json!({})).await.unwrap();
    assert_eq!(
        (output.attachments().len(), output.as_text()),
        (1, "{\"a\":1}")
    );
    let closure = async |_: serde_json::Value| {
        Ok::<_, std::io::Error>(Attachment::from_bytes("image/png", b"png"))
    };
    let tool = FunctionTool::new("t", "d", json!({ "type": "object" }), closure).unwrap();
    assert_eq!(tool.call(json!({})).await.unwrap().attachments().len(), 1);
    let closure = async |_: serde_json::Value| Ok::<_, std::io::Error>(Task::new("job"));
    let tool = FunctionTool::new("t", "d", json!({ "type": "object" }), closure).unwrap();
    assert!(tool.call(json!({})).await.unwrap().as_task().is_some());
}

#[tokio::test]
async fn a_stored_message_keeps_its_attachments_b113() {
    let attachment = Attachment::from_bytes("image/png", b"png").named("a.png");
    let message = Message::User(tool_core::UserMessage::new("look").with_attachment(attachment));
    let json = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
}

/// Stops everything, behind a box.
#[tool]
async fn boxed() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err(ToolError::fatal("stop now"))?;
    Ok(())
}

#[tokio::test]
async fn a_fatal_error_stays_fatal_in_a_box_and_in_a_closure_r4() {
    assert!(Boxed.call(json!({})).await.unwrap_err().is_fatal());
    let closure = async |_: serde_json::Value| Err::<(), _>(ToolError::fatal("stop now"));
    let tool = FunctionTool::new("t", "d", json!({ "type": "object" }), closure).unwrap();
    assert!(tool.call(json!({})).await.unwrap_err().is_fatal());
}

#[tokio::test]
async fn a_value_says_error_only_with_something_to_say_r4() {
    for (value, failed) in [
        (json!({ "error": "no" }), true),
        (json!({ "error": { "code": 1 } }), true),
        (json!({ "error": true }), true),
        (json!({ "error": false, "rows": 3 }), false),
        (json!({ "error": null }), false),
        (json!({ "error": "" }), false),
        (json!({ "error": 0 }), false),
        (json!({ "errors": "no" }), false),
    ] {
        let shown = value.to_string();
        let tool = tool("t", move || std::future::ready(Ok(value.clone())));
        assert_eq!(
            tool.call(json!({})).await.unwrap().is_error(),
            failed,
            "{shown}"
        );
    }
}
