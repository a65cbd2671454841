//! The server of the database is killed while workers work.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::kills::{STEPS, begin, decide, number, share, worker};
use super::postgres::Database;
use super::process::{Process, is_other};
use super::world::{Calls, World};

/// A server of its own, which is gone afterwards.
struct Server(PathBuf);

impl Server {
    fn new() -> Option<(Self, String)> {
        let folder = format!("tool-durability-cluster-{}", std::process::id());
        let server = Server(std::env::temp_dir().join(folder));
        let address = server.call("start")?;
        Some((server, address))
    }

    fn call(&self, verb: &str) -> Option<String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/postgres");
        let called = Command::new(script)
            .arg(verb)
            .arg(&self.0)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&called.stderr);
        if called.status.code() == Some(3) {
            eprintln!("skipped: {said}");
            return None;
        }
        assert!(called.status.success(), "{verb}: {said}");
        Some(String::from_utf8(called.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.call("remove");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_database_that_is_killed_and_comes_back_loses_nothing_and_does_nothing_twice() {
    if is_other() {
        return;
    }
    let Some((server, address)) = Server::new() else {
        return;
    };
    let database = Database::on(address).await;
    let world = World::new("server", Some(database.address()));
    let agent = world.agent(world.store().await, Calls(STEPS));
    let count = number("DURABILITY_CHATS", 100);
    let chats = begin(&agent, count).await;
    let workers: Vec<Process> = (0..2).map(|_| worker(&world)).collect();
    let (mut killed, mut last_kill) = (0, Instant::now());
    let done = decide(chats, || {
        if killed < 3 && last_kill.elapsed() > Duration::from_millis(700) {
            server.call("kill");
            server.call("start");
            (killed, last_kill) = (killed + 1, Instant::now());
        }
        share(count, killed, 3)
    });
    let done = done.await;
    assert_eq!(killed, 3);
    workers.into_iter().for_each(Process::kill);
    let again = world.check(&done).await;
    println!(
        "{count} chats, {killed} kills of the server: {again} of {} calls ran again",
        2 * count
    );
    std::fs::remove_dir_all(&world.folder).unwrap();
}
