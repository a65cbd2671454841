//! A worker is stopped with SIGSTOP past its lease, and goes on later.

use std::path::PathBuf;
use std::time::Duration;

use tool_core::{StoredChat, ToolCall, Worker, tool};

use super::kills::{begin, is_done};
use super::postgres::Database;
use super::process::{Process, is_other, world};
use super::world::{Calls, World, append};

const LEASE: Duration = Duration::from_secs(1);

/// Says that it runs, and runs until it is let go.
pub struct Hangs(pub PathBuf);

#[tool]
impl Hangs {
    /// Waits for a file.
    async fn execute(&self, tool_call: &ToolCall) -> String {
        let line = format!("{} {}\n", tool_call.idempotency_key(), tool_call.attempt());
        append(&self.0.join("hanging"), &line);
        while !self.0.join("go").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        format!("attempt {}", tool_call.attempt())
    }
}

/// Not a test of its own: what a worker process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn worker_process() {
    let Some(world) = world() else { return };
    let agent = world.agent(world.store().await, Calls(&["hangs"]));
    let worker = Worker::new(agent.with_lease(LEASE)).look_every(Duration::from_millis(100));
    let failed = |chat: &str, error: &tool_core::ChatError| {
        append(&world.folder.join("failed"), &format!("{chat}: {error}\n"));
    };
    worker.run(std::future::pending(), failed).await;
}

/// Waits until so many lines were written.
async fn lines(path: PathBuf, count: usize) -> String {
    for _ in 0..3000 {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.lines().count() >= count {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} has no {count} lines", path.display());
}

async fn until_done(chats: &mut [StoredChat]) {
    for chat in chats {
        for _ in 0..3000 {
            chat.reload().await.unwrap();
            if is_done(chat) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(is_done(chat), "{chat:?}");
    }
}

async fn stop_a_worker(world: World) {
    let worker = || Process::start("stopped::worker_process", &world, &[]);
    let agent = world.agent(world.store().await, Calls(&["hangs"]));
    let mut chats = begin(&agent, 5).await;
    let first = worker();
    lines(world.folder.join("hanging"), 5).await;
    first.signal("-STOP");
    // Another one takes over once the leases have ended.
    let second = worker();
    let hanging = lines(world.folder.join("hanging"), 10).await;
    assert_eq!(
        hanging.lines().filter(|line| line.ends_with(" 2")).count(),
        5,
        "{hanging}"
    );
    std::fs::write(world.folder.join("go"), "").unwrap();
    until_done(&mut chats).await;
    let before: Vec<_> = chats.iter().map(|chat| chat.messages().to_vec()).collect();
    second.kill();

    // What it did is stale: it is told so, records nothing, and goes on with what is ready.
    first.signal("-CONT");
    lines(world.folder.join("failed"), 5).await;
    let later = agent.create_as("later").await.unwrap();
    later.ask_later("go").await.unwrap();
    chats.push(later);
    until_done(&mut chats).await;
    first.kill();
    for (chat, before) in chats.iter().zip(before) {
        assert_eq!(chat.messages(), before, "{}", chat.id());
        assert!(format!("{before:?}").contains("attempt 2"), "{before:?}");
    }
    std::fs::remove_dir_all(&world.folder).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_worker_on_sqlite_that_was_stopped_past_its_lease_records_nothing() {
    if !is_other() {
        stop_a_worker(World::new("stop-sqlite", None)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_worker_on_postgres_that_was_stopped_past_its_lease_records_nothing() {
    if is_other() {
        return;
    }
    let Some(database) = Database::new().await else {
        return;
    };
    stop_a_worker(World::new("stop-postgres", Some(database.address()))).await;
    database.remove().await;
}
