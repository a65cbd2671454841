//! C3: a decision holds for the call that was shown, and no call slips past one.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::chat::{assert_paired, echo, outcomes, results, set};
use tokio::sync::Semaphore;
use tool_core::model::{DeltaSink, ModelFuture, Request};
use tool_core::store::MemoryChats;
use tool_core::testing::ScriptedModel;
use tool_core::{
    Agent, AssistantMessage, Block, Chat, ChatErrorKind, Decision, FinishReason, Message, Model,
    Outcome, Schema, Tool, ToolCall, ToolDefinition, ToolFuture, ToolOutput, tool, tools,
};

/// What was paid.
#[derive(Clone, Default)]
struct Paid(Arc<Mutex<Vec<u64>>>);

impl Paid {
    fn all(&self) -> Vec<u64> {
        self.0.lock().unwrap().clone()
    }
}

struct Pay(Paid);

#[tool(requires_approval)]
impl Pay {
    /// Pays.
    async fn execute(&self, cents: u64) -> u64 {
        self.0.0.lock().unwrap().push(cents);
        cents
    }
}

#[tokio::test]
async fn an_old_decision_does_not_hold_for_a_new_call_with_the_same_id_c3_b89() {
    let paid = Paid::default();
    let model = ScriptedModel::new()
        .call("pay", json!({ "cents": 10 }))
        .call("pay", json!({ "cents": 999_999 }))
        .text("done");
    let mut chat = Chat::new(model).with_tools(tools![Pay(paid.clone())]);
    let shown = chat.ask("go").await.unwrap().pending_approvals()[0].clone();
    chat.deny(&shown).unwrap();
    let turn = chat.complete().await.unwrap();
    let now = turn.pending_approvals()[0].clone();
    let mut same_id = shown.clone();
    same_id.call.id.clone_from(&now.call.id);

    let error = chat.approve(&same_id).unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::NoSuchCall);
    assert!(
        error.to_string().contains("not the one that was shown"),
        "{error}"
    );
    assert_eq!(paid.all(), [0; 0]);

    chat.approve(&now).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(paid.all(), [999_999]);
}

#[tokio::test]
async fn a_decision_that_no_call_awaits_says_which_ones_do_c3() {
    let two = [
        ("pay", json!({ "cents": 1 })),
        ("pay", json!({ "cents": 2 })),
    ];
    let model = || ScriptedModel::new().calls(two.clone()).text("done");
    let mut chat = Chat::new(model()).with_tools(tools![Pay(Paid::default())]);
    chat.ask("go").await.unwrap();
    let agent = Agent::new(model(), MemoryChats::new()).with_tools(tools![Pay(Paid::default())]);
    let mut stored = agent.create().await.unwrap();
    stored.ask("go").await.unwrap();

    let shown = chat.pending_approvals();
    let (first, second) = (&shown[0].id, &shown[1].id);
    chat.approve(&shown[0]).unwrap();
    stored.approve(first).await.unwrap();
    for (call, expected) in [
        (
            "nope",
            format!("no call `nope` awaits a decision; these do: `{second}` (pay)"),
        ),
        (
            first,
            format!("the call `{first}` awaits nothing more: `complete` goes on with it"),
        ),
    ] {
        let [error, in_store] = [chat.deny(call), stored.deny(call).await].map(Result::unwrap_err);
        assert_eq!(
            (error.kind(), error.to_string()),
            (ChatErrorKind::NoSuchCall, expected.clone())
        );
        assert_eq!(
            (in_store.kind(), in_store.to_string()),
            (ChatErrorKind::NoSuchCall, expected)
        );
    }
    let error = chat.answer(second, json!({})).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("no call `{second}` awaits an answer; none does")
    );
    chat.approve(second).unwrap();
    stored.approve(second).await.unwrap();
    assert_eq!(chat.complete().await.unwrap().to_string(), "done");
    assert_eq!(stored.complete().await.unwrap().to_string(), "done");
}

#[tokio::test]
async fn a_call_is_found_by_its_key_too_c3() {
    let paid = Paid::default();
    let model = ScriptedModel::new()
        .call("pay", json!({ "cents": 10 }))
        .text("done");
    let mut chat = Chat::new(model).with_tools(tools![Pay(paid.clone())]);
    let turn = chat.ask("go").await.unwrap();
    let key = turn.pending_approvals()[0].idempotency_key().to_owned();
    chat.approve(key).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(paid.all(), [10]);
}

/// Calls two tools whose names, ids and arguments, put one behind the other, are the same text.
struct Ambiguous;

impl Model for Ambiguous {
    fn name(&self) -> &str {
        "ambiguous"
    }

    fn provider(&self) -> &str {
        "test"
    }

    fn generate<'a>(&'a self, request: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        let is_done = matches!(request.transcript.messages().last(), Some(Message::Tool(_)));
        let call = |id: &str, name: &str, text: &str| {
            Block::ToolCall(ToolCall::new(id, name, json!({ "text": text })))
        };
        let mut answer = AssistantMessage::from_text("done");
        if !is_done {
            answer.finish = FinishReason::ToolCalls;
            answer.blocks = vec![
                call("a/b", "say", "c|d"),
                call("a", "say", "b/c|d"),
                call("a/b|say", "say", "c|d"),
                call("a", "say", "c|d\",\"e\":\""),
            ];
        }
        Box::pin(async move { Ok(answer) })
    }
}

/// Says it.
#[tool(requires_approval)]
async fn say(text: String) -> String {
    text
}

#[tokio::test]
async fn a_decision_on_one_call_is_none_on_another_whose_parts_make_the_same_text_b110() {
    let mut chat = Chat::new(Ambiguous).with_tools(tools![Say]);
    let waiting = chat.ask("go").await.unwrap().pending_approvals().to_vec();
    assert_eq!(waiting.len(), 4);
    for (number, call) in waiting.iter().enumerate() {
        assert_eq!(chat.pending_approvals().len(), 4 - number);
        match number {
            0 => chat.approve(call).unwrap(),
            _ => chat.deny(call).unwrap(),
        }
    }
    chat.complete().await.unwrap();
    use Outcome::{Denied, Ok};
    assert_eq!(outcomes(&chat), [Ok, Denied, Denied, Denied]);

    // The same in a store, in a chat whose name has the separators too.
    let agent = Agent::new(Ambiguous, MemoryChats::new()).with_tools(tools![Say]);
    let mut chat = agent.create_as("a/b-1-0/0").await.unwrap();
    chat.ask("go").await.unwrap();
    let waiting = chat.pending_approvals();
    for (number, call) in waiting.iter().enumerate() {
        assert_eq!(chat.pending_approvals().len(), 4 - number);
        match number {
            3 => chat.approve(call).await.unwrap(),
            _ => chat.deny(call).await.unwrap(),
        }
    }
    chat.complete().await.unwrap();
    let outcomes = chat.messages().iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result.outcome),
        _ => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [Denied, Denied, Denied, Ok]);
}

/// A tool written by hand whose declaration does not say that it asks.
#[derive(Clone)]
struct ByHand(ToolDefinition, Paid);

impl ByHand {
    fn new(paid: &Paid) -> Self {
        let schema = json!({ "type": "object", "properties": { "cents": { "type": "integer" } } });
        let schema = Schema::new(schema).unwrap();
        ByHand(
            ToolDefinition::new("by_hand", "Pays.", schema),
            paid.clone(),
        )
    }
}

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn requires_approval(&self, call: &ToolCall) -> bool {
        let arguments: Value = call.arguments.parse().unwrap();
        arguments["cents"].as_u64() > Some(1000)
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = self.0.check(call)?;
            let cents = arguments["cents"].as_u64().unwrap();
            self.1.0.lock().unwrap().push(cents);
            Ok(ToolOutput::text("paid"))
        })
    }
}

#[tokio::test]
async fn a_tool_asks_for_approval_however_it_is_given_r1_c3() {
    let paid = Paid::default();
    let by_hand = || ByHand::new(&paid);
    let chats: Vec<fn(Chat, ByHand) -> Chat> = vec![
        |chat, tool| chat.with_tools(tools![tool]),
        |chat, tool| chat.with_tools(tools![tool.deferred()]),
        |chat, tool| chat.with_deferred_tools(tools![tool]),
        |chat, tool| {
            let limit = std::time::Duration::from_secs(9);
            chat.with_tools(tools![tool.redefine(|d| d.with_max_run_time(limit))])
        },
    ];
    for give in chats {
        let model = ScriptedModel::new()
            .call("by_hand", json!({ "cents": 5000 }))
            .text("done");
        let mut chat = give(Chat::new(model), by_hand());
        let turn = chat.ask("go").await.unwrap();
        assert_eq!(turn.pending_approvals().len(), 1);
        chat.deny(&turn.pending_approvals()[0]).unwrap();
        chat.complete().await.unwrap();
    }
    assert_eq!(paid.all(), [0; 0]);
}

fn is_large(_: &Spend, call: &ToolCall) -> bool {
    #[derive(serde::Deserialize)]
    struct Cents {
        cents: u64,
    }
    call.arguments
        .parse::<Cents>()
        .is_ok_and(|call| call.cents > 1000)
}

struct Spend(Paid);

#[tool(requires_approval = is_large)]
impl Spend {
    /// Spends.
    async fn execute(&self, #[param(alias = "amount")] cents: u64) -> u64 {
        self.0.0.lock().unwrap().push(cents);
        cents
    }
}

#[tokio::test]
async fn a_predicate_judges_the_arguments_that_the_tool_will_see_r3_c3() {
    let spellings = [
        json!({ "cents": 5000 }),
        json!({ "cents": 5000.0 }),
        json!({ "amount": 5000 }),
        json!("{\"cents\": 5000}"),
    ];
    for arguments in spellings {
        let paid = Paid::default();
        let model = ScriptedModel::new()
            .call("spend", arguments.clone())
            .text("done");
        let mut chat = Chat::new(model).with_tools(tools![Spend(paid.clone())]);
        let turn = chat.ask("go").await.unwrap();
        assert_eq!(turn.pending_approvals().len(), 1, "{arguments}");
        chat.deny(&turn.pending_approvals()[0]).unwrap();
        chat.complete().await.unwrap();
        assert_eq!(paid.all(), [0; 0], "{arguments}");
    }
}

struct Budget {
    spent: Arc<AtomicU64>,
}

impl Tool for Budget {
    fn definition(&self) -> &ToolDefinition {
        static DEFINITION: std::sync::OnceLock<ToolDefinition> = std::sync::OnceLock::new();
        DEFINITION.get_or_init(|| {
            let schema = Schema::new(json!({ "type": "object" })).unwrap();
            ToolDefinition::new("budget", "Spends 100.", schema)
        })
    }

    fn requires_approval(&self, _: &ToolCall) -> bool {
        self.spent.load(Ordering::SeqCst) >= 100
    }

    fn invoke<'a>(&'a self, _: &'a ToolCall) -> ToolFuture<'a> {
        self.spent.fetch_add(100, Ordering::SeqCst);
        Box::pin(async { Ok(ToolOutput::text("spent")) })
    }
}

#[tokio::test]
async fn a_predicate_is_asked_again_when_the_call_runs_c3_b109() {
    let spent = Arc::new(AtomicU64::new(0));
    let model = ScriptedModel::new()
        .calls([("budget", json!({})), ("budget", json!({}))])
        .text("done");
    let mut chat = Chat::new(model).with_tools(tools![Budget {
        spent: spent.clone()
    }]);
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(spent.load(Ordering::SeqCst), 100);
    assert_eq!(turn.pending_approvals().len(), 1);
    chat.approve(&turn.pending_approvals()[0]).unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(spent.load(Ordering::SeqCst), 200);
    assert_paired(chat.messages());
}

struct Reviewed {
    began: Arc<Semaphore>,
    paid: Paid,
    hang: Arc<AtomicU64>,
}

#[tool(requires_approval, after_crash = "review")]
impl Reviewed {
    /// Pays, and may hang.
    async fn execute(&self, cents: u64) -> u64 {
        self.began.add_permits(1);
        if self.hang.swap(0, Ordering::SeqCst) == 1 {
            std::future::pending::<()>().await;
        }
        self.paid.0.lock().unwrap().push(cents);
        cents
    }
}

#[tokio::test]
async fn a_review_shows_what_would_run_and_a_denial_tells_the_truth_c3_d4_b122() {
    for approve in [true, false] {
        let tool = Reviewed {
            began: Arc::new(Semaphore::new(0)),
            paid: Paid::default(),
            hang: Arc::new(AtomicU64::new(1)),
        };
        let (began, paid) = (tool.began.clone(), tool.paid.clone());
        let model = ScriptedModel::new()
            .call("reviewed", json!({ "cents": 100 }))
            .text("done");
        let mut chat = Chat::new(model).with_tools(tools![tool]);
        let turn = chat.ask("go").await.unwrap();
        let pending = &turn.pending_approvals()[0];
        chat.approve_with(pending, json!({ "cents": 5 })).unwrap();
        tokio::select! {
            _ = chat.complete() => panic!("it hangs"),
            permit = began.acquire() => permit.unwrap().forget(),
        }
        let turn = chat.complete().await.unwrap();
        let pending = &turn.pending_approvals()[0];
        assert!(pending.possibly_done);
        assert_eq!(pending.arguments.as_str(), "{\"cents\":5}");
        match approve {
            true => chat.approve(pending).unwrap(),
            false => chat.deny(pending).unwrap(),
        }
        chat.complete().await.unwrap();
        match approve {
            true => assert_eq!(paid.all(), [5]),
            false => {
                assert_eq!(outcomes(&chat), [Outcome::Denied]);
                let text = &results(&chat)[0].text;
                assert!(text.contains("may have taken effect"), "{text}");
                assert!(!text.contains("did not run"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_decided_is_not_thrown_away_by_another_question_c3_b112() {
    let paid = Paid::default();
    let model = ScriptedModel::new()
        .call("pay", json!({ "cents": 10 }))
        .text("paid")
        .text("sun");
    let mut chat = Chat::new(model).with_tools(tools![Pay(paid.clone())]);
    let turn = chat.ask("go").await.unwrap();
    chat.approve(&turn.pending_approvals()[0]).unwrap();
    let error = chat.ask("and the weather?").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::PendingToolCalls);
    assert_eq!(chat.complete().await.unwrap().text(), "paid");
    assert_eq!(chat.ask("and the weather?").await.unwrap().text(), "sun");
    assert_eq!(paid.all(), [10]);
}

async fn slow(call: &ToolCall) -> Decision {
    // The safe call opens this.
    WAIT.acquire().await.unwrap().forget();
    let _ = call;
    Decision::Approved
}

static WAIT: Semaphore = Semaphore::const_new(0);

/// Asks elsewhere.
#[tool(approval = slow)]
async fn elsewhere(_n: u64) -> &'static str {
    "done elsewhere"
}

#[tokio::test]
async fn a_slow_resolver_holds_up_no_safe_call_c3() {
    let safe = support::chat::tool("safe", || async {
        WAIT.add_permits(2);
        Ok("safe".into())
    });
    let model = ScriptedModel::new()
        .calls([
            ("elsewhere", json!({ "_n": 1 })),
            ("elsewhere", json!({ "_n": 2 })),
            ("safe", json!({})),
        ])
        .text("done");
    let mut chat = Chat::new(model)
        .with_tools(tools![Elsewhere])
        .with_tools(set([safe, echo("x")]));
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_eq!(outcomes(&chat), [Outcome::Ok; 3]);
}
