//! B94, B119, C1, R7, R8: what a run came to is neither lost nor done twice, whatever drops, panics or
//! asks in between.

mod support;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};
use support::chat::{assert_paired, outcomes, results, set, tool};
use tokio::sync::Semaphore;
use tool_core::files::{FileEntry, FileFuture, FilePath, FileStore, MemoryStore};
use tool_core::testing::ScriptedModel;
use tool_core::{
    AssistantMessage, Block, Calls, Chat, Concurrency, FinishReason, Limits, Message, Outcome,
    Task, TaskPoll, Tool, ToolCall, ToolError, ToolOptions, Turn, tool, tools,
};

/// Blocks its thread until it is let go.
struct Blocking {
    runs: Arc<AtomicUsize>,
    began: Arc<Semaphore>,
    go: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
}

#[tool]
impl Blocking {
    /// Blocks.
    fn execute(&self) -> usize {
        self.began.add_permits(1);
        self.go.lock().unwrap().recv().unwrap();
        self.runs.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[tokio::test]
async fn a_blocking_tool_whose_run_was_dropped_does_not_run_beside_itself_b94() {
    for limit in [Concurrency::Sequential, Concurrency::AtMost(4)] {
        let (let_go, go) = std::sync::mpsc::channel();
        let blocking = Blocking {
            runs: Arc::default(),
            began: Arc::new(Semaphore::new(0)),
            go: Arc::new(Mutex::new(go)),
        };
        let (runs, began) = (blocking.runs.clone(), blocking.began.clone());
        let mut chat = Chat::new(
            ScriptedModel::new()
                .call("blocking", json!({}))
                .text("done"),
        )
        .with_tools(tools![blocking])
        .with_tool_options(ToolOptions::new().concurrency(limit));
        tokio::select! {
            _ = chat.ask("go") => panic!("it blocks"),
            permit = began.acquire() => permit.unwrap().forget(),
        }
        let_go.send(()).unwrap();
        assert_eq!(chat.complete().await.unwrap().text(), "done");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(results(&chat)[0].text, "1");
        assert_paired(chat.messages());
    }
}

/// Writes only once it is let.
#[derive(Clone)]
struct Slow(MemoryStore, Arc<Semaphore>, Arc<Semaphore>);

impl FileStore for Slow {
    fn list(&self) -> FileFuture<'_, Vec<FileEntry>> {
        self.0.list()
    }

    fn size<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Option<u64>> {
        self.0.size(path)
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes> {
        self.0.read(path)
    }

    fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()> {
        self.0.delete(path)
    }

    fn write<'a>(&'a self, path: &'a FilePath, bytes: Bytes) -> FileFuture<'a, ()> {
        Box::pin(async move {
            self.1.add_permits(1);
            self.2.acquire().await.unwrap().forget();
            self.0.write(path, bytes).await
        })
    }
}

#[tokio::test]
async fn a_tool_that_has_returned_does_not_run_again_while_its_result_is_kept_r9_b94() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let long = tool("long", move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok("x".repeat(30_000).into()) }
    });
    let (writing, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let store = Slow(MemoryStore::new(), writing.clone(), go.clone());
    let mut chat = Chat::new(ScriptedModel::new().call("long", json!({})).text("done"))
        .with_tools(set([long]))
        .with_file_store(store);
    tokio::select! {
        _ = chat.ask("go") => panic!("the store is slow"),
        permit = writing.acquire() => permit.unwrap().forget(),
    }
    go.add_permits(9);
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert!(results(&chat)[0].text.contains("results/"));
}

struct Publish {
    jobs: Arc<AtomicUsize>,
}

#[tool]
impl Publish {
    /// Publishes.
    async fn execute(&self, tool_call: &ToolCall) -> Result<Task, ToolError> {
        tool_call.ask("Begin?", json!({})).await?;
        let job = self.jobs.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Task::new(job))
    }

    async fn resume(
        &self,
        task: Task,
        tool_call: &ToolCall,
    ) -> Result<TaskPoll<String>, ToolError> {
        tool_call.ask("Publish?", json!({})).await?;
        Ok(TaskPoll::Ready(format!("job {} is published", task.data)))
    }
}

#[tokio::test]
async fn a_task_that_asks_goes_on_with_the_same_task_r7_r8() {
    let publish = Publish {
        jobs: Arc::default(),
    };
    let jobs = publish.jobs.clone();
    let mut chat = Chat::new(ScriptedModel::new().call("publish", json!({})).text("done"))
        .with_tools(tools![publish]);
    let mut asked = Vec::new();
    let mut turn = chat.ask("go").await.unwrap();
    for _ in 0..9 {
        let Some(request) = turn.pending_inputs().first().cloned() else {
            match turn {
                Turn::Answer(_) => break,
                _ => {
                    turn = chat.complete().await.unwrap();
                    continue;
                }
            }
        };
        asked.push(request.question.clone());
        chat.answer(&request, json!({})).unwrap();
        turn = chat.complete().await.unwrap();
    }
    assert_eq!(turn.text(), "done");
    assert_eq!(asked, ["Begin?", "Publish?"]);
    assert_eq!(jobs.load(Ordering::SeqCst), 1);
    assert_eq!(results(&chat)[0].text, "job 1 is published");
}

struct Price(Arc<AtomicUsize>);

#[tool]
impl Price {
    /// Buys at the price of the day.
    async fn execute(&self, tool_call: &ToolCall) -> Result<String, ToolError> {
        let price = self.0.fetch_add(1, Ordering::SeqCst).min(1) + 10;
        tool_call
            .ask(format!("The price is {price}. Buy?"), json!({}))
            .await?;
        Ok(format!("bought at {price}"))
    }
}

#[tokio::test]
async fn a_question_that_changed_is_asked_once_more_and_then_answered_r7() {
    let mut chat = Chat::new(ScriptedModel::new().call("price", json!({})).text("done"))
        .with_tools(tools![Price(Arc::default())]);
    let mut asked = Vec::new();
    let mut turn = chat.ask("go").await.unwrap();
    while let Some(request) = turn.pending_inputs().first().cloned() {
        asked.push(request.question.clone());
        assert!(asked.len() < 5, "{asked:?}");
        chat.answer(&request, json!({})).unwrap();
        turn = chat.complete().await.unwrap();
    }
    assert_eq!(asked, ["The price is 10. Buy?", "The price is 11. Buy?"]);
    assert_eq!(results(&chat)[0].text, "bought at 11");
}

/// Asks on the thread that it blocks.
#[tool]
fn asks_blocking(tool_call: &ToolCall) -> Result<String, ToolError> {
    let runtime = tokio::runtime::Handle::current();
    let answer =
        runtime.block_on(tool_call.ask("Sure?", json!({ "yes": { "type": "boolean" } })))?;
    Ok(format!("{:?}", answer.value().map(ToString::to_string)))
}

#[test]
fn a_blocking_tool_that_asks_gives_its_thread_back_r7() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    runtime.block_on(async {
        let mut chat = Chat::new(
            ScriptedModel::new()
                .call("asks_blocking", json!({}))
                .text("done"),
        )
        .with_tools(tools![AsksBlocking]);
        let turn = chat.ask("go").await.unwrap();
        let request = turn.pending_inputs()[0].clone();
        chat.answer(&request, json!({ "yes": true })).unwrap();
        assert_eq!(chat.complete().await.unwrap().text(), "done");
        assert!(
            results(&chat)[0].text.contains("true"),
            "{:?}",
            results(&chat)
        );
    });
    // Hangs if a thread still waits.
    drop(runtime);
}

fn answer(ids: &[&str], finish: FinishReason) -> Message {
    let calls = ids
        .iter()
        .map(|id| Block::ToolCall(ToolCall::new(*id, "counted", "{}")));
    Message::Assistant(AssistantMessage {
        blocks: calls.collect(),
        finish,
        ..AssistantMessage::default()
    })
}

fn said(id: &str, text: &str) -> Message {
    let result =
        json!({ "role": "tool", "call_id": id, "name": "counted", "outcome": "ok", "text": text });
    serde_json::from_value(result).unwrap()
}

fn counted(runs: &Arc<AtomicUsize>) -> Arc<dyn Tool> {
    let runs = runs.clone();
    tool("counted", move || {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        async move { Ok(Value::from(run)) }
    })
}

#[tokio::test]
async fn answered_calls_of_a_restored_chat_do_not_run_again_c1_b89() {
    let user = || Message::User("go".into());
    let cases: Vec<Vec<Message>> = vec![
        vec![
            user(),
            answer(&["x", "x"], FinishReason::ToolCalls),
            said("x", "r1"),
            said("x", "r2"),
        ],
        vec![
            user(),
            answer(&[""], FinishReason::ToolCalls),
            said("", "r1"),
        ],
        vec![user(), answer(&["x"], FinishReason::Length)],
    ];
    for messages in cases {
        let runs = Arc::new(AtomicUsize::new(0));
        let mut chat = Chat::new(ScriptedModel::new().text("done"))
            .with_tools(set([counted(&runs)]))
            .with_messages(messages.clone());
        assert_eq!(chat.complete().await.unwrap().text(), "done");
        assert_eq!(runs.load(Ordering::SeqCst), 0, "{messages:?}");
        assert_paired(chat.messages());
        let texts: Vec<String> = results(&chat)
            .into_iter()
            .map(|result| result.text)
            .collect();
        assert!(
            texts
                .iter()
                .all(|text| text.starts_with('r') || text.contains("cut off")),
            "{texts:?}"
        );
    }
}

#[tokio::test]
async fn the_key_of_a_call_survives_being_stored_b119() {
    let runs = Arc::new(AtomicUsize::new(0));
    let keys = Arc::new(Mutex::new(Vec::new()));
    let chat = Chat::new(ScriptedModel::new().call("counted", json!({})));
    let mut chat = chat.with_tools(set([counted(&runs)]));
    chat.ask_later("go").unwrap();
    let key = {
        let answer = chat.generate().await.unwrap().unwrap();
        answer
            .tool_calls()
            .next()
            .unwrap()
            .idempotency_key()
            .to_owned()
    };
    let stored = serde_json::to_string(chat.messages()).unwrap();
    let messages: Vec<Message> = serde_json::from_str(&stored).unwrap();
    let seen = keys.clone();
    let mut chat = Chat::new(ScriptedModel::new().text("done"))
        .with_tools(set([counted(&runs)]))
        .with_messages(messages)
        .before_tool_call(move |call| seen.lock().unwrap().push(call.idempotency_key().to_owned()));
    chat.complete().await.unwrap();
    assert_eq!(*keys.lock().unwrap(), [key]);
}

#[tokio::test]
async fn a_callback_that_panics_leaves_a_valid_transcript_c1_c6() {
    for on in ["assistant", "tool"] {
        let runs = Arc::new(AtomicUsize::new(0));
        let armed = Arc::new(AtomicUsize::new(1));
        let mut chat = Chat::new(ScriptedModel::new().call("counted", json!({})).text("done"))
            .with_tools(set([counted(&runs)]))
            .after_message(move |message| {
                let is_it = serde_json::to_value(message).unwrap()["role"] == on;
                assert!(
                    !(is_it && armed.swap(0, Ordering::SeqCst) == 1),
                    "a bug of the user"
                );
            });
        let asked = AssertUnwindSafe(chat.ask("go"));
        let panicked = futures_catch(asked).await;
        assert!(panicked, "{on}");
        assert_eq!(chat.complete().await.unwrap().text(), "done");
        assert_paired(chat.messages());
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(outcomes(&chat), [Outcome::Ok]);
    }
}

/// Whether a future panics.
async fn futures_catch<T>(future: AssertUnwindSafe<impl Future<Output = T>>) -> bool {
    let mut future = Box::pin(future.0);
    std::future::poll_fn(move |context| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(context));
        match std::panic::catch_unwind(poll) {
            Ok(poll) => poll.map(|_| false),
            Err(_) => std::task::Poll::Ready(true),
        }
    })
    .await
}

/// What it carries panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("and again");
        }
    }
}

#[tokio::test]
async fn a_panic_that_panics_is_one_failure_r4() {
    for limit in [Concurrency::Sequential, Concurrency::AtMost(2)] {
        let bomb = tool("bomb", || async { std::panic::panic_any(Bomb) });
        let mut chat = Chat::new(ScriptedModel::new().call("bomb", json!({})).text("done"))
            .with_tools(set([bomb]))
            .with_tool_options(ToolOptions::new().concurrency(limit));
        assert_eq!(chat.ask("go").await.unwrap().text(), "done");
        assert_eq!(outcomes(&chat), [Outcome::Error]);
    }
}

struct Polled(Arc<AtomicUsize>);

#[tool]
impl Polled {
    /// Takes a while.
    async fn execute(&self) -> Task {
        Task::new(())
    }

    async fn resume(&self, task: Task) -> TaskPoll<&'static str> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => TaskPoll::Pending(task),
            _ => TaskPoll::Ready("done"),
        }
    }
}

#[tokio::test]
async fn a_loop_of_ones_own_resumes_tasks_c1_r8() {
    let polls = Arc::new(AtomicUsize::new(0));
    let mut chat = Chat::new(ScriptedModel::new().call("polled", json!({})).text("done"))
        .with_tools(tools![Polled(polls.clone())]);
    chat.ask_later("go").unwrap();
    chat.generate().await.unwrap();
    for _ in 0..3 {
        chat.run_tools().await.unwrap();
    }
    assert_eq!(polls.load(Ordering::SeqCst), 2);
    assert_eq!(results(&chat)[0].text, "done");
    chat.complete().await.unwrap();
}

#[tokio::test]
async fn a_refusal_of_the_chat_is_no_failure_of_the_tool_c2_c9() {
    let runs = Arc::new(AtomicUsize::new(0));
    let four = ["counted"; 4].map(|name| (name, json!({})));
    let mut chat = Chat::new(ScriptedModel::new().calls(four).text("done"))
        .with_tools(set([counted(&runs)]))
        .with_tool_options(ToolOptions::new().calls(Calls::One))
        .with_limits(Limits::new().consecutive_failures(3));
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
}

#[tokio::test]
async fn a_mistake_in_the_set_up_leaves_no_message_behind_c1() {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut chat = Chat::new(ScriptedModel::new())
        .with_tools(set([counted(&runs)]))
        .with_tool_options(ToolOptions::new().choice("nothing"));
    chat.ask("go").await.unwrap_err();
    assert!(chat.messages().is_empty());
}

#[tokio::test]
async fn generate_gives_the_ids_by_which_the_chat_knows_its_calls_c3() {
    let model = ScriptedModel::new().calls([("a", json!({})), ("a", json!({}))]);
    let mut chat = Chat::new(model);
    chat.ask_later("go").unwrap();
    let answer = chat.generate().await.unwrap().unwrap();
    let Some(Message::Assistant(kept)) = chat.messages().last() else {
        panic!("no answer is kept");
    };
    assert_eq!(&answer, kept);
    assert!(
        answer
            .tool_calls()
            .all(|call| call.idempotency_key().starts_with("chat-"))
    );
}
