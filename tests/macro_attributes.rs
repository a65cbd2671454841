//! M7: how the runtime is to treat a tool.

use std::time::Duration;

use serde_json::json;
use tool_core::{AfterCrash, Decision, Spill, Tool, ToolCall, tool};

/// Says nothing.
#[tool]
async fn plain() {}

/// Says everything.
#[tool(
    name = "all-of-it",
    description = concat!("Says ", "everything."),
    defer,
    strict,
    requires_approval,
    max_run_time = "1d 4h",
    spill_to_file = 50_000,
    after_crash = "review",
    provider_options = { "cache_control": { "type": "ephemeral" } },
    provider_options(anthropic = { "eager": true, "list": [1, -2.5, null] }),
)]
async fn everything() {}

#[test]
fn m7_every_attribute_reaches_the_runtime() {
    let definition = Everything.definition();
    assert_eq!(definition.name(), "all-of-it");
    assert_eq!(definition.description(), "Says everything.");
    assert!(definition.is_deferred());
    assert_eq!(definition.strict(), Some(true));
    assert!(definition.requires_approval());
    assert_eq!(
        definition.max_run_time(),
        Some(Duration::from_secs(28 * 3600))
    );
    assert_eq!(definition.spill_to_file(), Some(Spill::Characters(50_000)));
    assert_eq!(definition.after_crash(), AfterCrash::Review);
    let options = |protocol| {
        let options = definition.provider_options(protocol);
        options
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(options("gemini"), [r#"cache_control={"type":"ephemeral"}"#]);
    assert_eq!(
        options("anthropic"),
        [
            r#"cache_control={"type":"ephemeral"}"#,
            "eager=true",
            "list=[1,-2.5,null]"
        ]
    );
}

#[test]
fn m7_nothing_said_is_nothing_set() {
    let definition = Plain.definition();
    assert!(
        !definition.is_deferred() && !definition.requires_approval() && !definition.is_blocking()
    );
    assert_eq!(definition.strict(), None);
    assert_eq!(definition.max_run_time(), None);
    assert_eq!(definition.spill_to_file(), None);
    assert_eq!(definition.after_crash(), AfterCrash::Rerun);
    assert_eq!(definition.provider_options("anthropic").count(), 0);
}

macro_rules! durations {
    ($($name:ident: $text:literal => $milliseconds:literal;)*) => {$({
        struct $name;

        /// Has a limit.
        #[tool(max_run_time = $text)]
        impl $name {
            fn execute(&self) {}
        }

        assert_eq!($name.definition().max_run_time(), Some(Duration::from_millis($milliseconds)));
    })*};
}

#[test]
fn m7_durations_are_read() {
    durations! {
        A: "90s" => 90_000;
        B: "2h" => 7_200_000;
        C: "500ms" => 500;
        D: "1h 30m" => 5_400_000;
        E: "1d4h" => 100_800_000;
        F: "1w" => 604_800_000;
        G: " 5 m " => 300_000;
    }
}

/// Never cuts.
#[tool(
    spill_to_file = false,
    defer = false,
    strict = false,
    requires_approval = false,
    after_crash = "report"
)]
async fn whole() {}

#[test]
fn m7_flags_can_be_turned_off() {
    let definition = Whole.definition();
    assert_eq!(definition.spill_to_file(), Some(Spill::Never));
    assert_eq!(definition.strict(), Some(false));
    assert_eq!(definition.after_crash(), AfterCrash::Report);
    assert!(!definition.is_deferred() && !definition.requires_approval());
}

async fn decide(call: &ToolCall) -> Decision {
    match call.id.as_str() {
        "1" => Decision::Approved,
        _ => Decision::Pending,
    }
}

/// Is decided elsewhere.
#[tool(approval = decide)]
async fn resolved() {}

/// Is decided by what it does.
#[tool(requires_approval = |call| call.arguments.as_str().contains("42"))]
async fn judged(#[param(default)] amount: u64) -> u64 {
    amount
}

#[tokio::test]
async fn m7_approval_is_asked_by_predicate_or_resolver() {
    let call = |id: &str| ToolCall::new(id, "resolved", "{}");
    assert!(Resolved.definition().requires_approval());
    assert_eq!(
        Resolved.approval(&call("1")).expect("resolver").await,
        Decision::Approved
    );
    assert_eq!(
        Resolved.approval(&call("2")).expect("resolver").await,
        Decision::Pending
    );
    assert!(Plain.approval(&call("1")).is_none());
    let call = |text: &str| ToolCall::new("1", "judged", text);
    assert!(Judged.requires_approval(&call(r#"{"amount": 42}"#)));
    assert!(!Judged.requires_approval(&call(r#"{"amount": 7}"#)));
    assert_eq!(Judged.call(json!({})).await.expect("amount").as_text(), "0");
}

/// Found by path.
#[tool(crate = ::tool_core)]
fn placed() {}

#[test]
fn m7_the_crate_can_be_named() {
    assert_eq!(Placed.name(), "placed");
}
