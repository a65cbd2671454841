//! D5, D6: workers run what is ready.

#[macro_use]
#[path = "support/every_store.rs"]
mod every_store;
#[path = "support/file.rs"]
mod file;
#[path = "support/postgres.rs"]
mod postgres;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use every_store::paying;
use serde_json::json;
use support::chat::assert_paired;
use tool_core::store::{Change, ChatStore, MemoryChats, SqliteChats, StoreErrorKind};
use tool_core::testing::ScriptedModel;
use tool_core::{Agent, Worker};

on_every_store! {
    a_worker_runs_what_is_ready
    a_chat_whose_holder_died_with_its_mail_taken_is_not_ready_for_ever
    agents_that_share_a_store_leave_each_others_chats_alone
}

async fn a_worker_runs_what_is_ready(store: impl ChatStore + Clone + 'static) {
    let paid = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new()
        .call("pay", json!({ "cents": 3 }))
        .text("paid")
        .text("bye");
    let agent = Agent::new(model, store).with_tools(paying(&paid));
    let mut chat = agent.create().await.unwrap();
    chat.ask_later("pay").await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = Worker::new(agent.clone()).look_every(Duration::from_millis(50));
    let works = tokio::spawn(worker.run(
        async { stopped.await.unwrap_or_default() },
        |chat, error| panic!("{chat}: {error}"),
    ));
    let until = async |chat: &mut tool_core::StoredChat,
                       is: &dyn Fn(&tool_core::StoredChat) -> bool| {
        for _ in 0..1000 {
            chat.reload().await.unwrap();
            if is(chat) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not come to that: {:?}", chat.messages());
    };
    until(&mut chat, &|chat| chat.awaiting_approval()).await;
    let pending = chat.pending_approvals();
    chat.approve(&pending[0]).await.unwrap();
    until(&mut chat, &|chat| chat.messages().len() == 4).await;
    chat.ask_later("bye").await.unwrap();
    until(&mut chat, &|chat| chat.messages().len() == 6).await;
    stop.send(()).unwrap();
    works.await.unwrap();
    assert_eq!(paid.load(Ordering::SeqCst), 3);
    assert_paired(chat.messages());
}

async fn a_chat_whose_holder_died_with_its_mail_taken_is_not_ready_for_ever(
    store: impl ChatStore + Clone + 'static,
) {
    let agent = Agent::new(ScriptedModel::new().text("done"), store.clone());
    let chat = agent.create().await.unwrap();
    chat.ask_later("go").await.unwrap();
    // A holder takes what was sent, records that, and dies.
    let short = Duration::from_millis(50);
    let lease = store
        .claim(chat.id(), "dies", short)
        .await
        .unwrap()
        .unwrap();
    let mut change = Change::default();
    change.number = 1;
    change.messages = vec![json!({ "role": "user", "text": "go" })];
    change.taken = vec![1];
    store.save(&lease, change).await.unwrap();
    tokio::time::sleep(short * 2).await;

    let found = agent.clone();
    let id = chat.id().to_owned();
    let done = async move {
        while !found.find(&id).await.unwrap().is_idle() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let worker = Worker::new(agent).look_every(Duration::from_millis(10));
    worker
        .run(done, |chat, error| panic!("{chat}: {error}"))
        .await;
    let ready = store.claim_ready("", "me", short, 10).await.unwrap();
    assert_eq!(ready, [], "there is nothing left to do");
}

async fn agents_that_share_a_store_leave_each_others_chats_alone(
    store: impl ChatStore + Clone + 'static,
) {
    let agent = |name: &str| {
        let says = ScriptedModel::new().text(name);
        Agent::new(says, store.clone()).named(name)
    };
    let (sales, support) = (agent("sales"), agent("support"));
    let (sold, helped) = (
        sales.create().await.unwrap(),
        support.create().await.unwrap(),
    );
    sold.ask_later("hi").await.unwrap();
    helped.ask_later("hi").await.unwrap();

    let error = support.find(sold.id()).await.unwrap_err();
    assert_eq!(
        error.store_error().map(|error| error.kind()),
        Some(StoreErrorKind::NotFound)
    );
    let text = "is one of the agent `sales`, not of the agent `support`";
    assert!(error.to_string().contains(text), "{error}");
    support.delete(sold.id()).await.unwrap_err();

    let idle = async |agent: Agent, id: &str| {
        while !agent.find(id).await.unwrap().is_idle() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let worker = Worker::new(support.clone()).look_every(Duration::from_millis(10));
    let stop = idle(support.clone(), helped.id());
    worker
        .run(stop, |chat, error| panic!("{chat}: {error}"))
        .await;
    let read = support.find(helped.id()).await.unwrap();
    assert_eq!(read.last_answer().unwrap().text(), "support");
    let left = sales.find(sold.id()).await.unwrap();
    assert!(left.messages().is_empty() && !left.is_idle());
    let worker = Worker::new(sales.clone()).look_every(Duration::from_millis(10));
    let stop = idle(sales.clone(), sold.id());
    worker
        .run(stop, |chat, error| panic!("{chat}: {error}"))
        .await;
    let read = sales.find(sold.id()).await.unwrap();
    assert_eq!(read.last_answer().unwrap().text(), "sales");
    sales.delete(sold.id()).await.unwrap();
}
