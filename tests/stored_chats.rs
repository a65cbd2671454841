//! D1, D3, D4, D5: chats in a store, in memory, in SQLite and in PostgreSQL.

#[path = "support/file.rs"]
mod file;
#[macro_use]
#[path = "support/every_store.rs"]
mod every_store;
#[path = "support/postgres.rs"]
mod postgres;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use every_store::paying;
use serde_json::json;
use support::chat::{assert_paired, tool};
use tokio::sync::Semaphore;
use tool_core::store::{ChatStore, MemoryChats, SqliteChats, StoreErrorKind};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Agent, ChatErrorKind, Config, Message, Outcome, Task, TaskPoll, Tool, ToolCall, ToolError,
    ToolSet, Turn, tool, tools,
};

on_every_store! {
    a_chat_is_found_and_finished_by_another_process
    a_decision_counts_once_and_for_the_call_that_was_shown
    one_process_at_a_time_runs_a_chat
    a_question_and_a_task_go_on_elsewhere
    questions_that_come_while_a_chat_runs_are_answered_in_order
    a_chat_is_cancelled_from_elsewhere
    a_call_that_was_interrupted_runs_again_with_the_same_key
    a_call_that_always_ends_its_process_is_given_up
    what_a_tool_declares_for_a_crash_is_done
    a_chat_can_be_removed
    a_tool_that_is_gone_is_said_to_be
}

async fn a_chat_is_found_and_finished_by_another_process(store: impl ChatStore + Clone + 'static) {
    let paid = Arc::new(AtomicUsize::new(0));
    let asks = Agent::new(
        ScriptedModel::new().call("pay", json!({ "cents": 10 })),
        store.clone(),
    )
    .with_tools(paying(&paid));
    let mut chat = asks.create().await.unwrap();
    let turn = chat.ask("pay it").await.unwrap();
    assert_eq!(turn.pending_approvals().len(), 1);
    assert!(!chat.is_idle());
    let id = chat.id().to_owned();
    drop((chat, asks));

    // A process that only decides needs no model that answers.
    let decides = Agent::new(ScriptedModel::new(), store.clone()).with_tools(paying(&paid));
    let mut chat = decides.find(&id).await.unwrap();
    let pending = chat.pending_approvals()[0].clone();
    chat.approve(&pending).await.unwrap();
    assert!(!chat.awaiting_approval());
    assert_eq!(paid.load(Ordering::SeqCst), 0);

    let finishes = Agent::new(ScriptedModel::new().text("done"), store).with_tools(paying(&paid));
    let mut chat = finishes.find(&id).await.unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(paid.load(Ordering::SeqCst), 10);
    assert_paired(chat.messages());
    let again = finishes.find(&id).await.unwrap();
    assert!(again.is_idle());
    again.ask_later("more").await.unwrap();
    assert!(!finishes.find(&id).await.unwrap().is_idle());
    assert_eq!(again.messages(), chat.messages());
    assert_eq!(again.messages().len(), 4);
}

async fn a_decision_counts_once_and_for_the_call_that_was_shown(
    store: impl ChatStore + Clone + 'static,
) {
    let paid = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new()
        .calls([
            ("pay", json!({ "cents": 1 })),
            ("pay", json!({ "cents": 2 })),
        ])
        .text("done");
    let agent = Agent::new(model, store).with_tools(paying(&paid));
    let mut chat = agent.create().await.unwrap();
    chat.ask("pay").await.unwrap();
    let mut other = agent.find(chat.id()).await.unwrap();
    let pending = chat.pending_approvals();
    chat.deny_with_reason(&pending[0], "too much")
        .await
        .unwrap();
    let error = other.approve(&pending[0]).await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::NoSuchCall);
    let mut wrong = pending[1].clone();
    wrong.call.arguments = "{\"cents\":200}".into();
    assert!(other.approve(&wrong).await.is_err());
    other
        .approve_with(&pending[1], json!({ "cents": 5 }))
        .await
        .unwrap();
    assert!(
        other
            .approve_with(&pending[1], json!({ "cents": "x" }))
            .await
            .is_err()
    );
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(paid.load(Ordering::SeqCst), 5);
    let Message::Tool(denied) = &chat.messages()[2] else {
        panic!()
    };
    assert_eq!(denied.outcome, Outcome::Denied);
    assert!(denied.text.contains("too much"));
}

/// Runs until it is let go.
fn waiting(began: &Arc<Semaphore>, go: &Arc<Semaphore>) -> Arc<dyn Tool> {
    let (began, go) = (began.clone(), go.clone());
    tool("waits", move || {
        let (began, go) = (began.clone(), go.clone());
        async move {
            began.add_permits(1);
            go.acquire().await.unwrap().forget();
            Ok("waited".into())
        }
    })
}

async fn one_process_at_a_time_runs_a_chat(store: impl ChatStore + Clone + 'static) {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let model = ScriptedModel::new().call("waits", json!({})).text("done");
    let agent = |model| {
        Agent::new(model, store.clone()).with_tools(ToolSet::from_tools([waiting(&began, &go)]))
    };
    let first = agent(model);
    let mut chat = first.create().await.unwrap();
    let id = chat.id().to_owned();
    let runs = tokio::spawn(async move { chat.ask("go").await });
    began.acquire().await.unwrap().forget();

    let second = agent(ScriptedModel::new());
    let mut other = second.find(&id).await.unwrap();
    assert!(other.running());
    assert_eq!(other.complete().await.unwrap(), Turn::Running);
    go.add_permits(1);
    assert_eq!(runs.await.unwrap().unwrap().text(), "done");
    other.reload().await.unwrap();
    assert!(!other.running());
    assert_eq!(other.messages().len(), 4);
}

struct Export;

#[tool]
impl Export {
    /// Exports.
    async fn execute(&self, tool_call: &ToolCall) -> Result<Task, ToolError> {
        let format = tool_call
            .ask("Which format?", json!({ "format": { "type": "string" } }))
            .await?;
        let format = format.value().map(|answer| answer["format"].clone());
        Ok(Task::new(format).with_poll_interval(Duration::from_millis(1)))
    }

    async fn resume(&self, task: Task) -> TaskPoll<String> {
        TaskPoll::Ready(format!("exported as {}", task.data))
    }
}

async fn a_question_and_a_task_go_on_elsewhere(store: impl ChatStore + Clone + 'static) {
    let agent = |model| Agent::new(model, store.clone()).with_tools(tools![Export]);
    let mut chat = agent(ScriptedModel::new().call("export", json!({})))
        .create()
        .await
        .unwrap();
    let turn = chat.ask("export it").await.unwrap();
    assert_eq!(turn.pending_inputs()[0].question, "Which format?");

    let mut other = agent(ScriptedModel::new()).find(chat.id()).await.unwrap();
    let request = other.pending_inputs()[0].clone();
    let wrong = other
        .answer(&request, json!({ "format": 5 }))
        .await
        .unwrap_err();
    assert_eq!(wrong.kind(), ChatErrorKind::InvalidInput);
    other
        .answer(&request, json!({ "format": "csv" }))
        .await
        .unwrap();
    assert!(
        other
            .answer(&request, json!({ "format": "pdf" }))
            .await
            .is_err()
    );
    let turn = other.complete().await.unwrap();
    assert_eq!(turn.pending_tasks().len(), 1);

    let mut third = agent(ScriptedModel::new().text("done"))
        .find(chat.id())
        .await
        .unwrap();
    assert_eq!(third.pending_tasks().len(), 1);
    assert_eq!(third.complete().await.unwrap().text(), "done");
    let Message::Tool(result) = &third.messages()[2] else {
        panic!()
    };
    assert_eq!(result.text, "exported as \"csv\"");
}

async fn questions_that_come_while_a_chat_runs_are_answered_in_order(
    store: impl ChatStore + Clone + 'static,
) {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let model = ScriptedModel::new()
        .call("waits", json!({}))
        .text("one")
        .text("two")
        .text("three");
    let agent = Agent::new(model, store).with_tools(ToolSet::from_tools([waiting(&began, &go)]));
    let mut chat = agent.create().await.unwrap();
    let mut other = agent.find(chat.id()).await.unwrap();
    let runs = tokio::spawn(async move {
        let turn = chat.ask("first").await;
        (chat, turn)
    });
    began.acquire().await.unwrap().forget();
    assert_eq!(other.ask("second").await.unwrap(), Turn::Running);
    other.ask_later("third").await.unwrap();
    go.add_permits(1);
    let (chat, turn) = runs.await.unwrap();
    assert_eq!(turn.unwrap().text(), "three");
    let asked: Vec<&str> = chat
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::User(user) => Some(user.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(asked, ["first", "second", "third"]);
    assert_paired(chat.messages());
}

async fn a_chat_is_cancelled_from_elsewhere(store: impl ChatStore + Clone + 'static) {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let model = ScriptedModel::new().call("waits", json!({})).text("again");
    let agent = Agent::new(model, store).with_tools(ToolSet::from_tools([waiting(&began, &go)]));
    let mut chat = agent.create().await.unwrap();
    let other = agent.find(chat.id()).await.unwrap();
    let runs = tokio::spawn(async move {
        let turn = chat.ask("go").await;
        (chat, turn)
    });
    began.acquire().await.unwrap().forget();
    other.cancel().await.unwrap();
    let (mut chat, turn) = runs.await.unwrap();
    assert_eq!(turn.unwrap(), Turn::Cancelled);
    assert_paired(chat.messages());
    // A late one ends nothing that is asked afterwards.
    other.cancel().await.unwrap();
    assert_eq!(chat.ask("once more").await.unwrap().text(), "again");
}

async fn a_call_that_was_interrupted_runs_again_with_the_same_key(
    store: impl ChatStore + Clone + 'static,
) {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let keys = Arc::new(std::sync::Mutex::new(Vec::new()));

    struct Keyed(
        Arc<Semaphore>,
        Arc<Semaphore>,
        Arc<std::sync::Mutex<Vec<String>>>,
    );

    #[tool]
    impl Keyed {
        /// Runs until it is let go.
        async fn execute(&self, tool_call: &ToolCall) -> &'static str {
            self.2
                .lock()
                .unwrap()
                .push(tool_call.idempotency_key().to_owned());
            self.0.add_permits(1);
            self.1.acquire().await.unwrap().forget();
            "ran"
        }
    }

    let agent = |model| {
        let tool = Keyed(began.clone(), go.clone(), keys.clone());
        Agent::new(model, store.clone())
            .with_tools(tools![tool])
            .with_lease(Duration::from_millis(300))
    };
    let dies = agent(ScriptedModel::new().call("keyed", json!({})));
    let mut chat = dies.create().await.unwrap();
    let id = chat.id().to_owned();
    {
        let mut asked = Box::pin(chat.ask("go"));
        tokio::select! {
            _ = &mut asked => panic!("it waits"),
            permit = began.acquire() => permit.unwrap().forget(),
        }
    }
    // Nobody renews the lease any more.
    go.add_permits(1);
    let mut other = agent(ScriptedModel::new().text("done"))
        .find(&id)
        .await
        .unwrap();
    let turn = loop {
        match other.complete().await.unwrap() {
            Turn::Running => tokio::time::sleep(Duration::from_millis(20)).await,
            turn => break turn,
        }
    };
    assert_eq!(turn.text(), "done");
    let keys = keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    assert!(keys[0].starts_with(&id));
}

async fn a_call_that_always_ends_its_process_is_given_up(store: impl ChatStore + Clone + 'static) {
    struct Deadly(Arc<Semaphore>);

    #[tool]
    impl Deadly {
        /// Never ends.
        async fn execute(&self) -> &'static str {
            self.0.add_permits(1);
            std::future::pending().await
        }
    }

    let began = Arc::new(Semaphore::new(0));
    let agent = |model| {
        Agent::new(model, store.clone())
            .with_tools(tools![Deadly(began.clone())])
            .with_config(Config::new().max_attempts(3))
            .with_lease(Duration::from_millis(150))
    };
    let chat = agent(ScriptedModel::new()).create().await.unwrap();
    chat.ask_later("go").await.unwrap();
    let calls = ScriptedModel::new().call("deadly", json!({})).text("done");
    let mut turns = 0;
    let turn = loop {
        let mut found = agent(calls.clone()).find(chat.id()).await.unwrap();
        let mut completes = Box::pin(found.complete());
        tokio::select! {
            turn = &mut completes => match turn.unwrap() {
                Turn::Running => tokio::time::sleep(Duration::from_millis(20)).await,
                turn => break turn,
            },
            permit = began.acquire() => {
                permit.unwrap().forget();
                turns += 1;
            }
        }
    };
    assert_eq!((turn.text(), turns), ("done".into(), 3));
    let read = agent(calls).find(chat.id()).await.unwrap();
    let Message::Tool(result) = &read.messages()[2] else {
        panic!("{:?}", read.messages())
    };
    assert_eq!(result.outcome, Outcome::Unknown);
    assert!(result.text.contains("All 3 runs"), "{}", result.text);
}

async fn what_a_tool_declares_for_a_crash_is_done(store: impl ChatStore + Clone + 'static) {
    struct Reviewed(Arc<Semaphore>);
    struct Reported(Arc<Semaphore>);

    /// Hangs the first time.
    async fn hang(tool_call: &ToolCall, began: &Semaphore) -> String {
        if tool_call.attempt() == 1 {
            began.add_permits(1);
            std::future::pending::<()>().await;
        }
        format!("attempt {}", tool_call.attempt())
    }

    #[tool(after_crash = "review")]
    impl Reviewed {
        /// Hangs.
        async fn execute(&self, tool_call: &ToolCall) -> String {
            hang(tool_call, &self.0).await
        }
    }

    #[tool(after_crash = "report")]
    impl Reported {
        /// Hangs.
        async fn execute(&self, tool_call: &ToolCall) -> String {
            hang(tool_call, &self.0).await
        }
    }

    for (name, decides) in [("reviewed", true), ("reviewed", false), ("reported", false)] {
        let began = Arc::new(Semaphore::new(0));
        let agent = |model| {
            Agent::new(model, store.clone())
                .with_tools(tools![Reviewed(began.clone()), Reported(began.clone())])
                .with_lease(Duration::from_millis(200))
        };
        let dies = agent(ScriptedModel::new().call(name, json!({})));
        let mut chat = dies.create().await.unwrap();
        let id = chat.id().to_owned();
        {
            let mut asked = Box::pin(chat.ask("go"));
            tokio::select! {
                _ = &mut asked => panic!("it hangs"),
                permit = began.acquire() => permit.unwrap().forget(),
            }
        }
        let mut other = agent(ScriptedModel::new().text("done"))
            .find(&id)
            .await
            .unwrap();
        let turn = loop {
            match other.complete().await.unwrap() {
                Turn::Running => tokio::time::sleep(Duration::from_millis(20)).await,
                Turn::Paused(_) => {
                    let pending = other.pending_approvals();
                    assert!(pending[0].possibly_done);
                    match decides {
                        true => other.approve(&pending[0]).await.unwrap(),
                        false => other.deny(&pending[0]).await.unwrap(),
                    }
                }
                turn => break turn,
            }
        };
        assert_eq!(turn.text(), "done");
        let Message::Tool(result) = &other.messages()[2] else {
            panic!("{:?}", other.messages())
        };
        let expected = match (name, decides) {
            ("reviewed", true) => (Outcome::Ok, "attempt 2"),
            ("reviewed", false) => (Outcome::Denied, "may have taken effect"),
            _ => (Outcome::Unknown, "Whether it took effect is not known"),
        };
        assert_eq!(result.outcome, expected.0);
        assert!(result.text.contains(expected.1), "{}", result.text);
    }
}

async fn a_chat_can_be_removed(store: impl ChatStore + Clone + 'static) {
    let agent = Agent::new(ScriptedModel::new().text("one"), store);
    let mut chat = agent.create_as("gone").await.unwrap();
    chat.ask("hi").await.unwrap();
    agent.delete("gone").await.unwrap();
    agent.delete("gone").await.unwrap();
    for error in [
        agent.find("gone").await.unwrap_err(),
        chat.reload().await.unwrap_err(),
        chat.ask("more").await.unwrap_err(),
        chat.cancel().await.unwrap_err(),
    ] {
        assert_eq!(
            error.store_error().unwrap().kind(),
            StoreErrorKind::NotFound
        );
        assert_eq!(
            error.to_string(),
            "the store failed: there is no chat `gone`"
        );
    }
    assert!(agent.create_as("gone").await.unwrap().messages().is_empty());
    let error = agent.create_as("gone").await.unwrap_err();
    assert_eq!(error.store_error().unwrap().kind(), StoreErrorKind::Exists);
}

async fn a_tool_that_is_gone_is_said_to_be(store: impl ChatStore + Clone + 'static) {
    let paid = Arc::new(AtomicUsize::new(0));
    let calls = [
        ("pay", json!({ "cents": 1 })),
        ("pay", json!({ "cents": 2 })),
    ];
    let agent =
        Agent::new(ScriptedModel::new().calls(calls), store.clone()).with_tools(paying(&paid));
    let mut chat = agent.create().await.unwrap();
    chat.ask("pay").await.unwrap();
    let bare = Agent::new(ScriptedModel::new().text("done"), store);
    let mut chat = bare.find(chat.id()).await.unwrap();
    let pending = chat.pending_approvals();
    chat.deny(&pending[0]).await.unwrap();
    chat.approve(&pending[1]).await.unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    let Message::Tool(gone) = &chat.messages()[3] else {
        panic!()
    };
    assert!(
        gone.text.contains("There is no tool `pay`"),
        "{}",
        gone.text
    );
    assert_eq!(paid.load(Ordering::SeqCst), 0);
    assert_eq!(
        bare.find("nobody").await.unwrap_err().kind(),
        ChatErrorKind::Store
    );
}
