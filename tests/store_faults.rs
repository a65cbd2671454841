//! D4: a store that is away, or whose answers are lost, costs no result and doubles none.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;
use tool_core::store::{
    Change, ChatStore, Lease, MemoryChats, Next, Sent, StoreError, StoreErrorKind, StoreFuture,
    Stored,
};
use tool_core::testing::ScriptedModel;
use tool_core::{Agent, ChatErrorKind, Message, ToolCall, Turn, Worker, tool, tools};

/// What goes wrong with an operation.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// It did not happen.
    Away,
    /// It happened, and the answer was lost.
    Unheard,
}

type Faults = Arc<Mutex<dyn FnMut(&'static str) -> Fault + Send>>;

/// A store that fails where it is told to.
#[derive(Clone)]
struct Faulty {
    store: MemoryChats,
    faults: Faults,
    /// Renewals wait for a permit, and say that all is lost.
    renewals: Option<Arc<Semaphore>>,
    /// How long it takes to record something.
    slow: Duration,
}

impl Faulty {
    fn new(faults: impl FnMut(&'static str) -> Fault + Send + 'static) -> Self {
        Faulty {
            store: MemoryChats::new(),
            faults: Arc::new(Mutex::new(faults)),
            renewals: None,
            slow: Duration::ZERO,
        }
    }

    async fn around<T>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let fault = (self.faults.lock().unwrap())(name);
        let away = || StoreError::new(StoreErrorKind::Unavailable, format!("{name}: away"));
        match fault {
            Fault::None => work.await,
            Fault::Away => Err(away()),
            Fault::Unheard => work.await.and(Err(away())),
        }
    }
}

impl ChatStore for Faulty {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.around("create", self.store.create(chat, agent)))
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.around("delete", self.store.delete(chat)))
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        Box::pin(self.around("load", self.store.load(chat, after)))
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        Box::pin(self.around("claim", self.store.claim(chat, owner, length)))
    }

    fn claim_ready<'a>(
        &'a self,
        agent: &'a str,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>> {
        Box::pin(self.around(
            "claim_ready",
            self.store.claim_ready(agent, owner, length, limit),
        ))
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        Box::pin(async move {
            match &self.renewals {
                None => self.around("renew", self.store.renew(leases, length)).await,
                Some(permits) => {
                    permits.acquire().await.unwrap().forget();
                    Ok(leases.to_vec())
                }
            }
        })
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(self.slow).await;
            self.around("save", self.store.save(lease, change)).await
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        Box::pin(self.around("release", self.store.release(lease, next, seen)))
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        Box::pin(self.around("send", self.store.send(chat, sent)))
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        Box::pin(self.around("last_sent", self.store.last_sent(chats)))
    }

    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        Box::pin(self.around("wait", self.store.wait(after, limit)))
    }
}

struct Counts(Arc<AtomicUsize>);

#[tool]
impl Counts {
    /// Counts its runs.
    async fn execute(&self, tool_call: &ToolCall) -> String {
        self.0.fetch_add(1, Ordering::SeqCst);
        format!("attempt {}", tool_call.attempt())
    }
}

fn agent(store: &Faulty, model: ScriptedModel, runs: &Arc<AtomicUsize>) -> Agent {
    Agent::new(model, store.clone()).with_tools(tools![Counts(runs.clone())])
}

fn calls() -> ScriptedModel {
    ScriptedModel::new().call("counts", json!({})).text("done")
}

/// Of the operations of this name, every one fails but for every third time.
fn two_of_three(what: &'static [&'static str], fault: Fault) -> impl FnMut(&'static str) -> Fault {
    let mut count = 0;
    move |name| {
        if !what.contains(&name) {
            return Fault::None;
        }
        count += 1;
        match count % 3 {
            0 => Fault::None,
            _ => fault,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_kept_while_the_store_is_away_or_its_answers_are_lost() {
    const ALL: &[&str] = &["save", "send", "load", "release"];
    for fault in [Fault::Away, Fault::Unheard] {
        for what in [&ALL[..1], &ALL[1..2], &ALL[3..], ALL] {
            let runs = Arc::new(AtomicUsize::new(0));
            let store = Faulty::new(|_| Fault::None);
            let maker = agent(&store, ScriptedModel::new(), &runs);
            let mut chat = maker.create().await.unwrap();
            let mut faulty = store.clone();
            faulty.faults = Arc::new(Mutex::new(two_of_three(what, fault)));
            let agent = agent(&faulty, calls(), &runs);
            chat = loop {
                // Finding a chat is not repeated: its caller is told at once.
                if let Ok(chat) = agent.find(chat.id()).await {
                    break chat;
                }
            };
            chat.ask_later("go").await.unwrap();
            let turn = chat.complete().await.unwrap();
            assert_eq!(turn.text(), "done", "{what:?}");
            assert_eq!(runs.load(Ordering::SeqCst), 1, "{what:?}");
            let stored = store.load(chat.id(), 0).await.unwrap();
            assert_eq!(stored.messages.len(), 4, "{what:?}");
            assert!(!stored.running, "{what:?}");
            assert!(stored.inbox.is_empty(), "{what:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_an_error_and_the_chat_goes_on_later() {
    let runs = Arc::new(AtomicUsize::new(0));
    let is_away = Arc::new(Mutex::new(false));
    let (away, ran) = (is_away.clone(), runs.clone());
    let store = Faulty::new(move |name| {
        let mut away = away.lock().unwrap();
        // It goes away once the tool has run, before its result is recorded.
        *away |= name == "save" && ran.load(Ordering::SeqCst) == 1;
        match *away && name != "wait" {
            true => Fault::Away,
            false => Fault::None,
        }
    });
    let model = ScriptedModel::new().call("counts", json!({}));
    let mut chat = agent(&store, model, &runs).create().await.unwrap();
    let began = tokio::time::Instant::now();
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Store);
    let cause = error.store_error().unwrap();
    assert_eq!(cause.kind(), StoreErrorKind::Unavailable);
    assert!(
        began.elapsed() >= Duration::from_secs(60),
        "it was waited for"
    );
    assert_eq!(error.to_string(), "the store failed: save: away");

    // That the call had started is recorded; its result never was. By default it runs again.
    *is_away.lock().unwrap() = false;
    runs.store(5, Ordering::SeqCst);
    let text = ScriptedModel::new().text("done");
    let mut chat = agent(&store, text, &runs).find(chat.id()).await.unwrap();
    let turn = loop {
        match chat.complete().await.unwrap() {
            Turn::Running => tokio::time::sleep(Duration::from_secs(1)).await,
            turn => break turn,
        }
    };
    assert_eq!(turn.text(), "done");
    assert_eq!(runs.load(Ordering::SeqCst), 6);
    let Message::Tool(result) = &chat.messages()[2] else {
        panic!("{:?}", chat.messages())
    };
    assert_eq!(result.text, "attempt 2");
}

#[tokio::test]
async fn a_renewal_that_comes_late_ends_no_later_run() {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mut store = Faulty::new(|_| Fault::None);
    let renewals = Arc::new(Semaphore::new(0));
    store.renewals = Some(renewals.clone());

    struct Held(Arc<Semaphore>, Arc<Semaphore>);

    #[tool]
    impl Held {
        /// Runs until it is let go.
        async fn execute(&self) -> &'static str {
            self.0.add_permits(1);
            self.1.acquire().await.unwrap().forget();
            "ran"
        }
    }

    let model = ScriptedModel::new()
        .call("held", json!({}))
        .text("one")
        .call("held", json!({}))
        .text("two");
    let agent = Agent::new(model, store)
        .with_tools(tools![Held(began.clone(), go.clone())])
        .with_lease(Duration::from_millis(90));
    let mut chat = agent.create().await.unwrap();
    {
        let mut asked = Box::pin(chat.ask("go"));
        tokio::select! {
            _ = &mut asked => panic!("it waits"),
            permit = began.acquire() => permit.unwrap().forget(),
        }
        // The renewal of this run has begun, and waits.
        tokio::time::sleep(Duration::from_millis(200)).await;
        go.add_permits(1);
        assert_eq!(asked.await.unwrap().text(), "one");
    }
    let mut asked = Box::pin(chat.ask("again"));
    tokio::select! {
        _ = &mut asked => panic!("it waits"),
        permit = began.acquire() => permit.unwrap().forget(),
    }
    renewals.add_permits(1);
    tokio::task::yield_now().await;
    go.add_permits(1);
    assert_eq!(asked.await.unwrap().text(), "two");
}

#[tokio::test(start_paused = true)]
async fn a_worker_outlives_a_store_that_is_away() {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut asked = 0;
    let store = Faulty::new(move |name| {
        asked += usize::from(["claim_ready", "wait"].contains(&name));
        match asked < 50 && ["claim_ready", "wait"].contains(&name) {
            true => Fault::Away,
            false => Fault::None,
        }
    });
    let agent = agent(&store, calls(), &runs);
    let chat = agent.create().await.unwrap();
    chat.ask_later("go").await.unwrap();
    let began = tokio::time::Instant::now();
    let done = async {
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    Worker::new(agent)
        .run(done, |chat, error| panic!("{chat}: {error}"))
        .await;
    assert!(
        began.elapsed() > Duration::from_secs(10),
        "it does not ask without rest"
    );
}

#[tokio::test]
async fn a_worker_that_stops_hands_back_what_it_has_not_finished() {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));

    struct Slow(Arc<Semaphore>, Arc<Semaphore>);

    #[tool]
    impl Slow {
        /// Runs until it is let go.
        async fn execute(&self) -> &'static str {
            self.0.add_permits(1);
            self.1.acquire().await.unwrap().forget();
            "ran"
        }
    }

    let store = MemoryChats::new();
    let agent = |model| {
        Agent::new(model, store.clone()).with_tools(tools![Slow(began.clone(), go.clone())])
    };
    let first = agent(ScriptedModel::new().call("slow", json!({})));
    let mut chat = first.create().await.unwrap();
    chat.ask_later("go").await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let works = tokio::spawn(Worker::new(first).run(
        async { stopped.await.unwrap_or_default() },
        |chat, error| panic!("{chat}: {error}"),
    ));
    began.acquire().await.unwrap().forget();
    stop.send(()).unwrap();
    tokio::task::yield_now().await;
    assert!(!works.is_finished(), "the call that runs is waited for");
    go.add_permits(1);
    works.await.unwrap();
    chat.reload().await.unwrap();
    assert!(!chat.running());
    assert_eq!(
        chat.messages().len(),
        3,
        "the result is there, and no answer yet"
    );

    // It is ready at once for another one.
    let second = agent(ScriptedModel::new().text("done"));
    let id = chat.id().to_owned();
    let found = second.clone();
    let done = async move {
        loop {
            let chat = found.find(&id).await.unwrap();
            if chat.messages().len() == 4 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let worker = Worker::new(second).look_every(Duration::from_secs(3600));
    worker
        .run(done, |chat, error| panic!("{chat}: {error}"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_blocks_beyond_its_max_run_time_counts_as_crashed() {
    struct Blocks(Arc<AtomicUsize>, Arc<Semaphore>);

    #[tool(max_run_time = "100ms")]
    impl Blocks {
        /// Blocks its thread the first time, which no one can stop.
        async fn execute(&self, tool_call: &ToolCall) -> String {
            if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
                self.1.add_permits(1);
                std::thread::sleep(Duration::from_secs(3));
            }
            format!("attempt {}", tool_call.attempt())
        }
    }

    let (runs, began) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let store = MemoryChats::new();
    let agent = |model| {
        Agent::new(model, store.clone())
            .with_tools(tools![Blocks(runs.clone(), began.clone())])
            .with_lease(Duration::from_millis(300))
    };
    let mut first = agent(ScriptedModel::new().call("blocks", json!({})))
        .create()
        .await
        .unwrap();
    let id = first.id().to_owned();
    let blocked = tokio::spawn(async move { first.ask("go").await });
    began.acquire().await.unwrap().forget();
    let mut second = agent(ScriptedModel::new().text("done"))
        .find(&id)
        .await
        .unwrap();
    let turn = loop {
        match second.complete().await.unwrap() {
            Turn::Running => tokio::time::sleep(Duration::from_millis(20)).await,
            turn => break turn,
        }
    };
    assert_eq!(turn.text(), "done");
    assert!(!blocked.is_finished(), "it still blocks");
    let error = blocked.await.unwrap().unwrap_err();
    assert_eq!(
        error.store_error().unwrap().kind(),
        StoreErrorKind::LeaseLost
    );
    second.reload().await.unwrap();
    assert_eq!(second.messages().len(), 4);
    assert!(format!("{:?}", second.messages()).contains("attempt 2"));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_dropped_once_others_may_run_its_chat_and_runs_again() {
    struct Long(Arc<AtomicUsize>, Arc<Mutex<bool>>);

    #[tool]
    impl Long {
        /// Takes a minute, in which the store goes away the first time.
        async fn execute(&self, tool_call: &ToolCall) -> String {
            if tool_call.attempt() == 1 {
                *self.1.lock().unwrap() = true;
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            self.0.fetch_add(1, Ordering::SeqCst);
            format!("attempt {}", tool_call.attempt())
        }
    }

    let is_away = Arc::new(Mutex::new(false));
    let away = is_away.clone();
    let store = Faulty::new(move |_| match *away.lock().unwrap() {
        true => Fault::Away,
        false => Fault::None,
    });
    let ended = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().call("long", json!({})).text("done");
    let agent = Agent::new(model, store)
        .with_tools(tools![Long(ended.clone(), is_away.clone())])
        .with_lease(Duration::from_secs(5));
    let mut chat = agent.create().await.unwrap();
    let error = chat.ask("go").await.unwrap_err();
    assert!(error.store_error().is_some(), "{error}");
    assert_eq!(ended.load(Ordering::SeqCst), 0, "it was dropped");
    *is_away.lock().unwrap() = false;
    let turn = loop {
        match chat.complete().await.unwrap() {
            Turn::Running => tokio::time::sleep(Duration::from_secs(1)).await,
            turn => break turn,
        }
    };
    assert_eq!(turn.text(), "done");
    assert!(format!("{:?}", chat.messages()).contains("attempt 2"));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_that_came_before_a_question_does_not_end_its_run() {
    let mut store = Faulty::new(|_| Fault::None);
    store.slow = Duration::from_millis(300);
    let runs = Arc::new(AtomicUsize::new(0));
    let agent = agent(&store, calls(), &runs).with_lease(Duration::from_millis(90));
    let mut chat = agent.create().await.unwrap();
    chat.cancel().await.unwrap();
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn leases_of_each_length_are_renewed_in_time() {
    struct Slow;

    #[tool]
    impl Slow {
        /// Takes ten seconds.
        async fn execute(&self) -> &'static str {
            tokio::time::sleep(Duration::from_secs(10)).await;
            "slow"
        }
    }

    let store = MemoryChats::new();
    let call = |model: ScriptedModel| model.call("slow", json!({}));
    let model = call(call(ScriptedModel::new())).text("done").text("done");
    let long = Agent::new(model, store.clone()).with_tools(tools![Slow]);
    let short = long.clone().with_lease(Duration::from_secs(1));
    let mut first = long.create().await.unwrap();
    let mut second = short.create().await.unwrap();
    let id = second.id().to_owned();
    let asks = async move {
        let (first, second) = tokio::join!(first.ask("go"), second.ask("go"));
        assert_eq!(first.unwrap().text(), "done");
        assert_eq!(second.unwrap().text(), "done");
    };
    let asks = tokio::spawn(asks);
    for _ in 0..18 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(short.find(&id).await.unwrap().running());
    }
    asks.await.unwrap();
}
