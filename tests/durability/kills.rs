//! Workers are killed while another process decides.

use std::time::{Duration, Instant};

use tool_core::{Agent, Message, StoredChat, Worker};

use super::postgres::Database;
use super::process::{Process, is_other, world};
use super::world::{Calls, World};

/// Five steps: two calls, and the answers of the model.
pub const STEPS: &[&str] = &["guarded", "transfers"];

/// Not a test of its own: what a worker process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn worker_process() {
    let Some(world) = world() else { return };
    let agent = world.agent(world.store().await, Calls(STEPS));
    let agent = agent.with_lease(Duration::from_secs(3));
    let worker = Worker::new(agent).concurrency(16);
    let worker = worker.look_every(Duration::from_millis(250));
    let failed = |chat: &str, error: &tool_core::ChatError| eprintln!("{chat}: {error}");
    worker.run(std::future::pending(), failed).await;
}

pub fn worker(world: &World) -> Process {
    Process::start("kills::worker_process", world, &[])
}

pub fn number(variable: &str, otherwise: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

pub fn is_done(chat: &StoredChat) -> bool {
    matches!(chat.messages().last(), Some(Message::Assistant(answer)) if answer.text() == "done")
}

/// Makes chats that have something to do.
pub async fn begin(agent: &Agent, count: usize) -> Vec<StoredChat> {
    let mut chats = Vec::new();
    for number in 0..count {
        let chat = agent.create_as(format!("chat{number}")).await.unwrap();
        chat.ask_later("go").await.unwrap();
        chats.push(chat);
    }
    chats
}

/// How many of these chats are decided before something is killed the next time: all are at the end.
pub fn share(chats: usize, killed: usize, kills: usize) -> usize {
    match killed < kills {
        true => chats * killed / kills,
        false => usize::MAX,
    }
}

/// Approves what waits until all are done. `between` happens after each look at a chat, and says how many
/// chats may be decided by then, so that there is work left when something is killed.
pub async fn decide(chats: Vec<StoredChat>, mut between: impl FnMut() -> usize) -> Vec<StoredChat> {
    let began = Instant::now();
    let (mut decided, mut share) = (0, between());
    let (mut open, mut done) = (chats, Vec::new());
    while !open.is_empty() {
        let limit = Duration::from_secs(900);
        assert!(
            began.elapsed() < limit,
            "{} are not done: {:?}",
            open.len(),
            open[0]
        );
        let mut still = Vec::new();
        for mut chat in open {
            // Where the database is away, it is looked at again.
            if chat.reload().await.is_ok() {
                let pending = chat.pending_approvals();
                if !pending.is_empty() && decided < share {
                    decided += 1;
                    for pending in pending {
                        let _ = chat.approve(&pending).await;
                    }
                }
            }
            match is_done(&chat) {
                true => done.push(chat),
                false => still.push(chat),
            }
            share = between();
        }
        open = still;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    done
}

async fn kill_workers(world: World) {
    let (count, kills) = (
        number("DURABILITY_CHATS", 100),
        number("DURABILITY_KILLS", 8),
    );
    let agent = world.agent(world.store().await, Calls(STEPS));
    let chats = begin(&agent, count).await;
    let mut workers: Vec<Process> = (0..2).map(|_| worker(&world)).collect();
    let (began, mut killed, mut last_kill) = (Instant::now(), 0, Instant::now());
    let done = decide(chats, || {
        if killed < kills && last_kill.elapsed() > Duration::from_millis(200) {
            workers.remove(0).kill();
            workers.push(worker(&world));
            (killed, last_kill) = (killed + 1, Instant::now());
        }
        share(count, killed, kills)
    });
    let done = done.await;
    let took = began.elapsed();
    workers.into_iter().for_each(Process::kill);
    assert_eq!(killed, kills);
    assert!(done.iter().all(|chat| chat.messages().len() == 6));
    let again = world.check(&done).await;
    // A call that ran twice was running when a worker was killed, of which each runs 16 at most.
    assert!(again <= killed * 16, "{again} for {killed} kills");
    println!(
        "{count} chats, {killed} kills: {again} of {} calls ran again; {:.0} chats a second",
        2 * count,
        count as f64 / took.as_secs_f64()
    );
    std::fs::remove_dir_all(&world.folder).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn workers_on_sqlite_that_are_killed_lose_nothing_and_do_nothing_twice() {
    if !is_other() {
        kill_workers(World::new("sqlite", None)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn workers_on_postgres_that_are_killed_lose_nothing_and_do_nothing_twice() {
    if is_other() {
        return;
    }
    let Some(database) = Database::new().await else {
        return;
    };
    kill_workers(World::new("postgres", Some(database.address()))).await;
    database.remove().await;
}
