//! D3, D4, B118, B119: workers are killed with SIGKILL while another process decides. Nothing is lost, no
//! result is recorded twice, and a call runs again only where its run was interrupted.
//!
//! `DURABILITY_CHATS=1000 DURABILITY_KILLS=40 cargo test --test durability -- --nocapture` is the long run.

mod support;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use support::chat::assert_paired;
use tool_core::model::{DeltaSink, ModelFuture, Request};
use tool_core::store::SqliteChats;
use tool_core::{
    Agent, AssistantMessage, Block, FinishReason, Message, Model, ToolCall, ToolSet, Worker, tool,
    tools,
};

/// Calls a tool that waits for a decision, then one that does not, then answers.
struct FiveSteps;

impl Model for FiveSteps {
    fn name(&self) -> &str {
        "five-steps"
    }

    fn provider(&self) -> &str {
        "test"
    }

    fn generate<'a>(&'a self, request: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        Box::pin(async move {
            let messages = request.transcript.messages();
            let results = messages
                .iter()
                .filter(|message| matches!(message, Message::Tool(_)));
            let name = match results.count() {
                0 => "guarded",
                1 => "free",
                _ => return Ok(AssistantMessage::from_text("done")),
            };
            Ok(AssistantMessage {
                blocks: vec![Block::ToolCall(ToolCall::new("call_0", name, json!({})))],
                finish: FinishReason::ToolCalls,
                ..AssistantMessage::default()
            })
        })
    }
}

/// Writes a line before it returns: the effect.
#[derive(Clone)]
struct Log(PathBuf);

impl Log {
    fn add(&self, call: &ToolCall) {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.0)
            .unwrap();
        file.write_all(format!("{}\n", call.idempotency_key()).as_bytes())
            .unwrap();
    }
}

struct Guarded(Log);

#[tool(requires_approval)]
impl Guarded {
    /// Acts once it is approved.
    async fn execute(&self, tool_call: &ToolCall) -> &'static str {
        tokio::time::sleep(Duration::from_millis(3)).await;
        self.0.add(tool_call);
        tokio::time::sleep(Duration::from_millis(3)).await;
        "acted"
    }
}

struct Free(Log);

#[tool]
impl Free {
    /// Acts.
    async fn execute(&self, tool_call: &ToolCall) -> &'static str {
        self.0.add(tool_call);
        tokio::time::sleep(Duration::from_millis(3)).await;
        "acted"
    }
}

fn tools(log: &Log) -> ToolSet {
    tools![Guarded(log.clone()), Free(log.clone())]
}

fn agent(folder: &Path) -> Agent {
    let store = SqliteChats::open(folder.join("chats.db")).unwrap();
    Agent::new(FiveSteps, store)
        .with_tools(tools(&Log(folder.join("log"))))
        .with_lease(Duration::from_secs(3))
}

const FOLDER: &str = "DURABILITY_FOLDER";

/// Not a test of its own: what a worker process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn worker_process() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let worker = Worker::new(agent(Path::new(&folder))).concurrency(16);
    let worker = worker.look_every(Duration::from_millis(100));
    worker
        .run(std::future::pending(), |chat, error| {
            eprintln!("{chat}: {error}")
        })
        .await;
}

fn spawn(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker_process", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn number(variable: &str, otherwise: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn workers_that_are_killed_lose_nothing_and_do_nothing_twice() {
    if std::env::var_os(FOLDER).is_some() {
        return;
    }
    let (chats, kills) = (
        number("DURABILITY_CHATS", 100),
        number("DURABILITY_KILLS", 8),
    );
    let folder = std::env::temp_dir().join(format!("tool-durability-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let agent = agent(&folder);
    let began = Instant::now();
    let mut open = Vec::new();
    for number in 0..chats {
        let chat = agent.create_as(format!("chat{number}")).await.unwrap();
        chat.ask_later("go").await.unwrap();
        open.push(chat);
    }

    let mut workers: Vec<Child> = (0..2).map(|_| spawn(&folder)).collect();
    let (mut killed, mut done) = (0, Vec::new());
    let mut last_kill = Instant::now();
    while !open.is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(600),
            "{} chats are not done",
            open.len()
        );
        let mut still = Vec::new();
        for mut chat in open {
            chat.reload().await.unwrap();
            for pending in chat.pending_approvals() {
                chat.approve(&pending).await.unwrap();
            }
            match chat.messages().last() {
                Some(Message::Assistant(answer)) if answer.text() == "done" => done.push(chat),
                _ => still.push(chat),
            }
            if killed < kills && last_kill.elapsed() > Duration::from_millis(400) {
                let mut victim = workers.remove(0);
                victim.kill().unwrap();
                victim.wait().unwrap();
                workers.push(spawn(&folder));
                (killed, last_kill) = (killed + 1, Instant::now());
            }
        }
        open = still;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let took = began.elapsed();
    for mut worker in workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }

    let mut expected = Vec::new();
    for chat in &done {
        let messages = chat.messages();
        assert_eq!(messages.len(), 6, "{}: {messages:?}", chat.id());
        assert_paired(messages);
        for message in messages {
            if let Message::Assistant(answer) = message {
                expected.extend(
                    answer
                        .tool_calls()
                        .map(|call| call.idempotency_key().to_owned()),
                );
            }
        }
    }
    let log = std::fs::read_to_string(folder.join("log")).unwrap();
    let mut runs: HashMap<&str, usize> = HashMap::new();
    for key in log.lines() {
        *runs.entry(key).or_default() += 1;
    }
    assert_eq!(runs.len(), expected.len());
    assert!(expected.iter().all(|key| runs.contains_key(key.as_str())));
    // A call that ran twice was running when a worker was killed, of which each runs 16 at most.
    let again: usize = runs.values().map(|runs| runs - 1).sum();
    assert!(
        again <= killed * 16,
        "{again} runs too many for {killed} kills"
    );
    println!(
        "{chats} chats, {killed} kills: {again} of {} calls ran again; {:.0} chats a second",
        expected.len(),
        chats as f64 / took.as_secs_f64()
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
