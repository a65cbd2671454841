//! `cargo bench --bench durable`: chats in a store beside the same transactions with nothing around them; from
//! an approval to its effect in another process; from a kill to the next attempt. With `TOOL_POSTGRES_URL` set
//! to the address of a server whose database may be filled, on PostgreSQL too.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use tokio::task::JoinSet;
use tool_core::model::{DeltaSink, ModelFuture, Request};
use tool_core::store::{
    Change, ChatStore, Lease, Next, PostgresChats, Sent, SqliteChats, StoreFuture, Stored,
};
use tool_core::{
    Agent, AssistantMessage, Block, FinishReason, Message, Model, ToolCall, Worker, tool, tools,
};

const CHATS: usize = 400;
const AT_ONCE: usize = 16;

/// Calls a tool twice, then answers: five steps.
struct Model5(&'static str);

impl Model for Model5 {
    fn name(&self) -> &str {
        "five-steps"
    }

    fn provider(&self) -> &str {
        "bench"
    }

    fn generate<'a>(&'a self, request: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        let messages = request.transcript.messages();
        let results = messages
            .iter()
            .filter(|message| matches!(message, Message::Tool(_)));
        let count = results.count();
        Box::pin(async move {
            if count == 2 {
                return Ok(AssistantMessage::from_text("done"));
            }
            Ok(AssistantMessage {
                blocks: vec![Block::ToolCall(ToolCall::new(
                    "call_0",
                    self.0,
                    json!({ "n": 1 }),
                ))],
                finish: FinishReason::ToolCalls,
                ..AssistantMessage::default()
            })
        })
    }
}

struct Free;

#[tool]
impl Free {
    /// Does nothing.
    async fn execute(&self, n: u32) -> u32 {
        n
    }
}

/// Leaves the time at which it runs in a file.
struct Guarded(PathBuf);

#[tool(requires_approval)]
impl Guarded {
    /// Says when it runs.
    async fn execute(&self, n: u32) -> u32 {
        say_time(&self.0, "effect");
        n
    }
}

/// The first time it hangs.
struct Hangs(PathBuf);

#[tool]
impl Hangs {
    /// Says when it runs.
    async fn execute(&self, n: u32, tool_call: &ToolCall) -> u32 {
        let attempt = tool_call.attempt();
        say_time(
            &self.0,
            &format!("attempt{attempt}-{}", tool_call.idempotency_key()),
        );
        if attempt == 1 {
            std::future::pending::<()>().await;
        }
        n
    }
}

fn now() -> u128 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()
}

fn say_time(folder: &Path, name: &str) {
    let part = folder.join("part");
    std::fs::write(&part, now().to_string()).unwrap();
    std::fs::rename(part, folder.join(name)).unwrap();
}

async fn read_time(folder: &Path, name: &str) -> u128 {
    loop {
        if let Ok(text) = std::fs::read_to_string(folder.join(name)) {
            std::fs::remove_file(folder.join(name)).unwrap();
            return text.parse().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// What a chat asks of its store.
#[derive(Clone)]
enum Asked {
    Load(u64),
    Claim(Duration),
    Save(Change),
    Release(Next, u64),
    Send(Sent),
}

/// Writes down what is asked of a store.
#[derive(Clone)]
struct Listening(Arc<dyn ChatStore>, Arc<Mutex<Vec<Asked>>>);

impl Listening {
    fn heard(&self, asked: Asked) {
        self.1.lock().unwrap().push(asked);
    }
}

impl ChatStore for Listening {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        self.0.create(chat, agent)
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        self.0.delete(chat)
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        self.heard(Asked::Load(after));
        self.0.load(chat, after)
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        self.heard(Asked::Claim(length));
        self.0.claim(chat, owner, length)
    }

    fn claim_ready<'a>(
        &'a self,
        agent: &'a str,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>> {
        self.0.claim_ready(agent, owner, length, limit)
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        self.0.renew(leases, length)
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        self.heard(Asked::Save(change.clone()));
        self.0.save(lease, change)
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        self.heard(Asked::Release(next, seen));
        self.0.release(lease, next, seen)
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        self.heard(Asked::Send(sent.clone()));
        self.0.send(chat, sent)
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        self.0.last_sent(chats)
    }

    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        self.0.wait(after, limit)
    }
}

fn agent(store: impl ChatStore + 'static, calls: &'static str, folder: &Path) -> Agent {
    let folder = folder.to_path_buf();
    Agent::new(Model5(calls), store).with_tools(tools![
        Free,
        Guarded(folder.clone()),
        Hangs(folder)
    ])
}

/// How many a second there are of what `one` does.
async fn rate<F: Future<Output = ()> + Send + 'static>(one: impl Fn(usize) -> F) -> f64 {
    let began = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..CHATS {
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        running.spawn(one(number));
    }
    running.join_all().await;
    CHATS as f64 / began.elapsed().as_secs_f64()
}

/// Does to another chat what was asked.
async fn again(store: Arc<dyn ChatStore>, asked: Vec<Asked>, chat: String) {
    store.create(&chat, "").await.unwrap();
    let mut lease = None;
    for asked in asked {
        match (asked, &lease) {
            (Asked::Load(after), _) => drop(store.load(&chat, after).await.unwrap()),
            (Asked::Claim(length), _) => lease = store.claim(&chat, "bench", length).await.unwrap(),
            (Asked::Save(change), Some(lease)) => store.save(lease, change).await.unwrap(),
            (Asked::Release(next, seen), Some(lease)) => {
                store.release(lease, next, seen).await.unwrap();
            }
            (Asked::Send(sent), _) => drop(store.send(&chat, sent).await.unwrap()),
            _ => unreachable!("nothing is recorded without a lease"),
        }
    }
}

async fn throughput(name: &str, store: Arc<dyn ChatStore>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let listening = agent(
        Listening(store.clone(), asked.clone()),
        "free",
        Path::new("."),
    );
    listening.create().await.unwrap().ask("go").await.unwrap();
    let asked = asked.lock().unwrap().clone();
    let writes = asked
        .iter()
        .filter(|asked| !matches!(asked, Asked::Load(_)))
        .count()
        + 1;
    println!(
        "{name}: a chat of 5 steps is {writes} writing transactions and {} reads",
        asked.len() + 1 - writes
    );
    for round in 0..3 {
        let agent = agent(store.clone(), "free", Path::new("."));
        let chats = rate(|_| {
            let agent = agent.clone();
            async move {
                let mut chat = agent.create().await.unwrap();
                assert_eq!(chat.ask("go").await.unwrap().text(), "done");
            }
        });
        let chats = chats.await;
        let floor = rate(|number| {
            let chat = format!("floor-{round}-{number}-{}", now());
            again(store.clone(), asked.clone(), chat)
        });
        let floor = floor.await;
        println!(
            "{name}: {chats:.0} chats a second, floor {floor:.0}: {:.2} of it",
            chats / floor
        );
    }
}

/// A worker in a process of its own.
fn worker(place: &str, folder: &Path, calls: &str, lease: Duration) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .env("DURABLE_BENCH", place)
        .env("DURABLE_CALLS", calls);
    command
        .env("DURABLE_FOLDER", folder)
        .env("DURABLE_LEASE", lease.as_millis().to_string());
    command.spawn().unwrap()
}

async fn open(place: &str) -> Arc<dyn ChatStore> {
    match place.starts_with("postgres:") {
        true => Arc::new(PostgresChats::connect(place).await.unwrap()),
        false => Arc::new(SqliteChats::open(place).unwrap()),
    }
}

async fn latency(name: &str, place: &str, folder: &Path) {
    let mut works = worker(place, folder, "guarded", Duration::from_secs(15));
    let agent = agent(open(place).await, "guarded", folder);
    let mut took = Vec::new();
    for _ in 0..30 {
        let mut chat = agent.create().await.unwrap();
        chat.ask_later("go").await.unwrap();
        while !chat.awaiting_approval() {
            tokio::time::sleep(Duration::from_millis(2)).await;
            chat.reload().await.unwrap();
        }
        let pending = chat.pending_approvals();
        let approved = now();
        chat.approve(&pending[0]).await.unwrap();
        took.push(read_time(folder, "effect").await - approved);
    }
    works.kill().unwrap();
    works.wait().unwrap();
    took.sort_unstable();
    let milliseconds = |at: usize| took[at] as f64 / 1000.0;
    println!(
        "{name}: approval to effect in another process: median {:.1} ms, of 30 the slowest {:.1} ms",
        milliseconds(15),
        milliseconds(29)
    );
}

async fn recovery(name: &str, place: &str, folder: &Path) {
    for lease in [1, 3] {
        let lease = Duration::from_secs(lease);
        let mut first = worker(place, folder, "hangs", lease);
        let chat = agent(open(place).await, "hangs", folder)
            .create()
            .await
            .unwrap();
        chat.ask_later("go").await.unwrap();
        let key = format!("{}-1-0", chat.id());
        read_time(folder, &format!("attempt1-{key}")).await;
        let mut second = worker(place, folder, "hangs", lease);
        tokio::time::sleep(lease).await;
        first.kill().unwrap();
        let killed = now();
        let took = read_time(folder, &format!("attempt2-{key}")).await - killed;
        println!(
            "{name}: lease {lease:?}: runs again {:.2} s after the kill",
            took as f64 / 1e6
        );
        second.kill().unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        agent(open(place).await, "hangs", folder)
            .delete(chat.id())
            .await
            .unwrap();
    }
}

async fn work(place: &str) {
    let variable = |name: &str| std::env::var(name).unwrap();
    let calls = match variable("DURABLE_CALLS").as_str() {
        "hangs" => "hangs",
        _ => "guarded",
    };
    let lease = Duration::from_millis(variable("DURABLE_LEASE").parse().unwrap());
    let agent = agent(
        open(place).await,
        calls,
        Path::new(&variable("DURABLE_FOLDER")),
    );
    let failed = |chat: &str, error: &tool_core::ChatError| eprintln!("{chat}: {error}");
    Worker::new(agent.with_lease(lease))
        .run(std::future::pending(), failed)
        .await;
}

#[tokio::main]
async fn main() {
    if let Ok(place) = std::env::var("DURABLE_BENCH") {
        return work(&place).await;
    }
    let folder = std::env::temp_dir().join(format!("tool-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("chats.db").display().to_string();
    let mut places = vec![("SQLite", file)];
    if let Ok(address) = std::env::var("TOOL_POSTGRES_URL") {
        places.push(("PostgreSQL", address));
    }
    for (name, place) in places {
        throughput(name, open(&place).await).await;
        latency(name, &place, &folder).await;
        recovery(name, &place, &folder).await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
