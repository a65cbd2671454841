//! A process is killed at every operation of the store, before and after it, one after another.

use std::any::Any;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tool_core::store::{
    Change, ChatStore, Lease, Next, Sent, StoreFuture, StoreTransaction, Stored,
};
use tool_core::{Task, TaskPoll, ToolCall, ToolError, Turn, tool};

use super::postgres::Database;
use super::process::{Process, is_other, world};
use super::world::{Calls, World};

const LEASE: Duration = Duration::from_millis(300);

const SCRIPT: &[&str] = &["guarded", "transfers", "asks", "waits", "transfers"];

pub struct Asks;

#[tool]
impl Asks {
    /// Asks something.
    async fn execute(&self, tool_call: &ToolCall) -> Result<String, ToolError> {
        let answer = tool_call
            .ask("Which?", json!({ "which": { "type": "string" } }))
            .await?;
        Ok(answer
            .value()
            .map(|value| value["which"].to_string())
            .unwrap_or_default())
    }
}

pub struct Waits;

#[tool]
impl Waits {
    /// Begins a task.
    async fn execute(&self) -> Task {
        Task::new("begun").with_poll_interval(Duration::from_millis(1))
    }

    async fn resume(&self, task: Task) -> TaskPoll<String> {
        TaskPoll::Ready(format!("{} and ended", task.data))
    }
}

/// Kills its process at one of the operations of a store. Those that only wait or keep a lease do not count,
/// for how many there are depends on time.
#[derive(Clone)]
struct Deadly {
    store: Arc<dyn ChatStore>,
    done: Arc<AtomicUsize>,
    at: usize,
    is_before: bool,
}

impl Deadly {
    async fn around<T>(&self, work: impl Future<Output = T>) -> T {
        let number = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        let dies = number == self.at;
        if dies && self.is_before {
            die();
        }
        let done = work.await;
        if dies {
            die();
        }
        done
    }
}

fn die() -> ! {
    let pid = std::process::id().to_string();
    Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    unreachable!("it is dead");
}

impl ChatStore for Deadly {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.around(self.store.create(chat, agent)))
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        self.store.delete(chat)
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        Box::pin(self.around(self.store.load(chat, after)))
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        Box::pin(self.around(self.store.claim(chat, owner, length)))
    }

    fn claim_ready<'a>(
        &'a self,
        agent: &'a str,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>> {
        self.store.claim_ready(agent, owner, length, limit)
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        self.store.renew(leases, length)
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        Box::pin(self.around(self.store.save(lease, change)))
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        Box::pin(self.around(self.store.release(lease, next, seen)))
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        Box::pin(self.around(self.store.send(chat, sent)))
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        self.store.last_sent(chats)
    }

    fn begin<'a>(&'a self) -> StoreFuture<'a, Box<dyn StoreTransaction>> {
        Box::pin(async move {
            let transaction = self.around(self.store.begin()).await?;
            let deadly = self.clone();
            Ok(Box::new(DeadlyTransaction {
                transaction,
                deadly,
            }) as Box<dyn StoreTransaction>)
        })
    }

    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        self.store.wait(after, limit)
    }
}

struct DeadlyTransaction {
    transaction: Box<dyn StoreTransaction>,
    deadly: Deadly,
}

impl StoreTransaction for DeadlyTransaction {
    fn inner(&self) -> &(dyn Any + Send) {
        self.transaction.inner()
    }

    fn inner_mut(&mut self) -> &mut (dyn Any + Send) {
        self.transaction.inner_mut()
    }

    fn commit<'a>(self: Box<Self>, lease: &'a Lease, place: u32, call: Value) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let DeadlyTransaction {
                transaction,
                deadly,
            } = *self;
            deadly.around(transaction.commit(lease, place, call)).await
        })
    }
}

/// Not a test of its own: a process that brings the chat to its end, or dies on the way.
#[tokio::test]
async fn process() {
    let Some(world) = world() else { return };
    let Ok(at) = std::env::var("DURABILITY_AT") else {
        return;
    };
    let store = Deadly {
        store: world.store().await,
        done: Arc::default(),
        at: at.parse().unwrap(),
        is_before: std::env::var_os("DURABILITY_BEFORE").is_some(),
    };
    let agent = world.agent(store.clone(), Calls(SCRIPT)).with_lease(LEASE);
    let mut chat = match agent.create_as("chat").await {
        Ok(chat) => chat,
        Err(_) => agent.find("chat").await.unwrap(),
    };
    let asked = !chat.messages().is_empty();
    let mut turn = match asked {
        true => chat.complete().await.unwrap(),
        false => chat.ask("go").await.unwrap(),
    };
    while turn.answer().is_none() {
        if matches!(turn, Turn::Running) {
            tokio::time::sleep(LEASE / 10).await;
        }
        for pending in chat.pending_approvals() {
            chat.approve(&pending).await.unwrap();
        }
        for request in chat.pending_inputs() {
            chat.answer(&request, json!({ "which": "this" }))
                .await
                .unwrap();
        }
        turn = chat.complete().await.unwrap();
    }
    let done = store.done.load(Ordering::SeqCst);
    std::fs::write(world.folder.join("operations"), done.to_string()).unwrap();
}

/// How many deaths are tried at once: most of the time is spent waiting for the leases of the dead.
const AT_ONCE: usize = 4;

/// Runs the chat in a process that dies at this operation, if there are so many, and in one that goes on;
/// whether it died.
async fn kill_at(name: &str, at: usize, is_before: bool, in_postgres: bool) -> bool {
    let own = match in_postgres {
        true => Some(Database::new().await.unwrap()),
        false => None,
    };
    let address = own.as_ref().map(Database::address);
    let world = World::new(&format!("{name}-{at}-{is_before}"), address);
    let process = async |at: usize| {
        let mut variables = vec![("DURABILITY_AT", at.to_string())];
        if is_before {
            variables.push(("DURABILITY_BEFORE", "yes".into()));
        }
        let process = Process::start("every_operation::process", &world, &variables);
        tokio::task::spawn_blocking(|| process.wait())
            .await
            .unwrap()
    };
    let died = !process(at).await;
    assert!(!died || process(0).await, "after a death at {at}");
    let agent = world.agent(world.store().await, Calls(SCRIPT));
    let chat = agent.find("chat").await.unwrap();
    // A process that died when it had asked asks again: both are answered, the second one at once.
    let messages = chat.messages();
    assert!([12, 14].contains(&messages.len()), "at {at}: {messages:?}");
    let all = format!("{messages:?}");
    assert!(
        all.contains("and ended") && all.contains("this"),
        "at {at}: {all}"
    );
    let again = world.check(&[chat]).await;
    assert!(again <= 1, "at {at}: {again}");
    std::fs::remove_dir_all(&world.folder).unwrap();
    if let Some(own) = own {
        own.remove().await;
    }
    died
}

async fn kill_at_every_operation(name: &'static str, in_postgres: bool) {
    let (mut at, mut kills) = (0, 0);
    loop {
        let mut trying = JoinSet::new();
        for at in at + 1..=at + AT_ONCE {
            trying.spawn(async move {
                let before = kill_at(name, at, true, in_postgres).await;
                let after = kill_at(name, at, false, in_postgres).await;
                usize::from(before) + usize::from(after)
            });
        }
        let died: Vec<usize> = trying.join_all().await;
        at += AT_ONCE;
        kills += died.iter().sum::<usize>();
        if died.contains(&0) {
            break;
        }
    }
    println!("{name}: killed before and after each operation, {kills} times");
    assert!(kills > 100, "{kills} deaths are too few for this chat");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_on_sqlite_can_die_at_every_operation() {
    if !is_other() {
        kill_at_every_operation("every-sqlite", false).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_on_postgres_can_die_at_every_operation() {
    if is_other() {
        return;
    }
    let Some(database) = Database::new().await else {
        return;
    };
    database.remove().await;
    kill_at_every_operation("every-postgres", true).await;
}
