//! C1: whatever happens in whatever order, each call has exactly one result, in call order, before the
//! next request.
//!
//! `SEED=17 cargo test --test chat_random` replays the script that failed.

mod support;

use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use serde_json::json;
use support::chat::assert_paired;
use tool_core::model::{
    Accumulator, Delta, DeltaSink, Model, ModelError, ModelErrorKind, ModelFuture, Request,
};
use tool_core::{
    Calls, Chat, Concurrency, FinishReason, Limits, Message, Outcome, Task, TaskPoll, ToolCall,
    ToolChoice, ToolError, ToolOptions, Turn, tool, tools,
};

const SCRIPTS: u64 = 10_000;

/// Numbers that a seed determines (xorshift64*).
#[derive(Clone)]
struct Dice(Arc<Mutex<u64>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Dice(Arc::new(Mutex::new(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        )))
    }

    fn roll(&self, sides: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.roll(from.len() as u64) as usize]
    }
}

/// Answers at random, and checks what it is asked.
struct RandomModel(Dice);

impl Model for RandomModel {
    fn name(&self) -> &str {
        "random"
    }

    fn provider(&self) -> &str {
        "testing"
    }

    fn generate<'a>(&'a self, request: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        Box::pin(async move {
            assert_paired(request.transcript.messages());
            tokio::task::yield_now().await;
            if self.0.roll(20) == 0 {
                return Err(ModelError::new(ModelErrorKind::Server, "down"));
            }
            let mut answer = Accumulator::default();
            answer.push(&Delta::Text("words"));
            let names = [
                "fine", "fails", "panics", "guarded", "asks", "works", "waits", "fatal", "unknown",
            ];
            for slot in 0..self.0.pick(&[0, 0, 1, 1, 2, 3, 5]) {
                let name = match self.0.pick(&names) {
                    "fatal" if self.0.roll(3) > 0 => "fine",
                    name => name,
                };
                let id = format!("call_{slot}");
                answer.push(&Delta::CallStart {
                    slot,
                    id: &id,
                    name,
                });
                let text = self.0.pick(&[
                    "{}",
                    "{}",
                    "{}",
                    "{}",
                    "",
                    "null",
                    "{\"x\":1}",
                    "{\"x",
                    "[1]",
                ]);
                answer.push(&Delta::CallArguments { slot, text });
            }
            if self.0.roll(12) == 0 {
                answer.push(&Delta::Finish(FinishReason::Length));
            }
            Ok(answer.finish())
        })
    }
}

/// Is fine.
#[tool]
async fn fine() -> &'static str {
    tokio::task::yield_now().await;
    "fine"
}

/// Fails.
#[tool]
async fn fails() -> Result<(), ToolError> {
    Err(ToolError::new("failed"))
}

/// Panics.
#[tool]
async fn panics() {
    panic!("on purpose");
}

/// Stops everything.
#[tool]
async fn fatal() -> Result<(), ToolError> {
    tokio::task::yield_now().await;
    Err(ToolError::fatal("over"))
}

/// Needs approval.
#[tool(requires_approval, after_crash = "review")]
async fn guarded() -> &'static str {
    tokio::task::yield_now().await;
    "allowed"
}

/// Asks.
#[tool(after_crash = "report")]
async fn asks(tool_call: &ToolCall) -> Result<bool, ToolError> {
    let first = tool_call
        .ask("first?", json!({ "yes": { "type": "boolean" } }))
        .await?;
    tokio::task::yield_now().await;
    let second = tool_call.ask("second?", json!({})).await?;
    Ok(first.accepted() && second.accepted())
}

/// Waits for a while.
#[tool]
async fn waits() {
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
}

struct Works;

#[tool]
impl Works {
    /// Works on.
    async fn execute(&self) -> Task {
        Task::new(0)
    }

    async fn resume(&self, task: Task) -> TaskPoll<&'static str> {
        tokio::task::yield_now().await;
        match task.data.as_u64() {
            Some(0) => TaskPoll::Pending(Task::new(1)),
            _ => TaskPoll::Ready("worked"),
        }
    }
}

/// A transcript may end with an answer whose calls are still open; everywhere else they are paired.
fn assert_valid(chat: &Chat) {
    let messages = chat.messages();
    match messages.last() {
        Some(Message::Assistant(answer)) if answer.tool_calls().next().is_some() => {
            assert_paired(&messages[..messages.len() - 1]);
            assert!(!chat.is_complete());
        }
        _ => assert_paired(messages),
    }
    for (at, message) in messages.iter().enumerate() {
        if let Message::Tool(result) = message
            && matches!(result.outcome, Outcome::Denied)
        {
            assert_eq!(result.name, "guarded", "message {at}");
        }
    }
}

fn new_chat(dice: &Dice) -> Chat {
    let concurrency = dice.pick(&[
        Concurrency::Sequential,
        Concurrency::AtMost(2),
        Concurrency::Unbounded,
    ]);
    let calls = dice.pick(&[Calls::Any, Calls::Any, Calls::One, Calls::AtMost(3)]);
    let mut options = ToolOptions::new().concurrency(concurrency).calls(calls);
    if dice.roll(8) == 0 {
        options = options.choice(ToolChoice::Required);
    }
    Chat::new(RandomModel(dice.clone()))
        .with_tools(tools![
            Fine, Fails, Panics, Fatal, Guarded, Asks, Waits, Works
        ])
        .with_tool_options(options)
        .with_limits(limits(dice))
}

fn limits(dice: &Dice) -> Limits {
    match dice.roll(6) {
        0 => Limits::new().rounds(3),
        1 => Limits::new().rounds(20).tool_calls(4),
        2 => Limits::new().rounds(20).consecutive_failures(2),
        _ => Limits::new().rounds(20),
    }
}

/// Runs a future for a number of polls and drops it then.
async fn for_a_while<T>(polls: u64, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

async fn script(seed: u64, seen: &mut HashMap<&'static str, u64>) {
    let dice = Dice::new(seed);
    let mut chat = new_chat(&dice);
    for _ in 0..12 {
        let mut count = |what: &'static str| *seen.entry(what).or_default() += 1;
        match dice.roll(10) {
            0..=2 => match chat.ask("go").await {
                Ok(Turn::Answer(_)) => count("answer"),
                Ok(Turn::Paused(_)) => count("pause"),
                Ok(Turn::Stopped(_)) => count("stop"),
                Ok(_) => count("other"),
                Err(_) => count("error"),
            },
            3..=4 => {
                let _ = chat.complete().await;
            }
            5 => {
                let _ = chat.step().await;
            }
            6 => {
                let cancel = chat.cancel_handle();
                let polls = dice.roll(8);
                let (turn, ()) = tokio::join!(chat.complete(), async {
                    for _ in 0..polls {
                        tokio::task::yield_now().await;
                    }
                    cancel.cancel();
                });
                if matches!(turn, Ok(Turn::Cancelled)) {
                    count("cancelled");
                }
            }
            7 => {
                if for_a_while(dice.roll(8), chat.complete()).await.is_none() {
                    count("dropped");
                }
            }
            8 => chat.set_limits(limits(&dice)),
            _ => {
                let _ = chat.ask_later("more");
            }
        }
        assert_valid(&chat);
        for call in chat.pending_approvals() {
            match dice.roll(4) {
                0 => chat.deny_with_reason(&call, "no").unwrap(),
                1 => chat.approve_with(&call, json!({})).unwrap(),
                2 => chat.approve(&call).unwrap(),
                _ => continue,
            }
            count("decision");
        }
        for request in chat.pending_inputs() {
            match dice.roll(3) {
                0 => chat.decline(&request).unwrap(),
                1 => chat.answer(&request, json!({})).unwrap(),
                _ => continue,
            }
            count("answered question");
        }
        assert_valid(&chat);
    }
}

#[test]
fn ten_thousand_random_scripts_keep_the_transcript_valid_c1() {
    std::panic::set_hook(Box::new(|info| {
        let on_purpose = info.payload().downcast_ref::<&str>() == Some(&"on purpose");
        if !on_purpose {
            eprintln!("{info}");
        }
    }));
    let seeds = match std::env::var("SEED") {
        Ok(seed) => seed.parse().unwrap()..=seed.parse().unwrap(),
        Err(_) => 1..=SCRIPTS,
    };
    let whole = seeds.clone().count() as u64 == SCRIPTS;
    let mut seen = HashMap::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for seed in seeds {
        let run = std::panic::catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(script(seed, &mut seen))
        }));
        assert!(
            run.is_ok(),
            "seed {seed} failed: replay it with SEED={seed}"
        );
    }
    if whole {
        for what in [
            "answer",
            "pause",
            "stop",
            "error",
            "cancelled",
            "dropped",
            "decision",
            "answered question",
        ] {
            assert!(
                seen.get(what).is_some_and(|count| *count > 300),
                "{what} was hardly tried: {seen:?}"
            );
        }
    }
}
