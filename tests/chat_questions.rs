//! R7, C4: a tool asks the user. C3: edited arguments, interrupted calls. C9: limits.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use support::chat::{Log, assert_paired, echo, outcomes, results, set, tool};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Chat, ChatErrorKind, Config, Decision, Event, Limits, Outcome, Stop, Tool, ToolCall, ToolError,
    ToolErrorKind, Turn, Usage, tool, tools,
};

/// Books a table.
#[tool]
async fn book_table(day: String, tool_call: &ToolCall) -> Result<String, ToolError> {
    let fields = json!({
        "guests": { "type": "integer", "minimum": 1, "required": true },
        "note": { "type": "string", "default": "none" }
    });
    let size = tool_call.ask(format!("How many on {day}?"), fields).await?;
    if !size.accepted() {
        return Ok("nobody comes".into());
    }
    let sure = tool_call
        .ask("Are you sure?", json!({ "sure": { "type": "boolean" } }))
        .await?;
    Ok(format!(
        "{} guests, note {}, sure: {}",
        size["guests"], size["note"], sure["sure"]
    ))
}

fn booking() -> Chat {
    let model = ScriptedModel::new()
        .calls([
            ("book_table", json!({ "day": "Friday" })),
            ("ok", json!({})),
        ])
        .text("booked");
    Chat::new(model)
        .with_tools(tools![BookTable])
        .with_tools(set([echo("ok")]))
}

#[tokio::test]
async fn a_question_pauses_the_call_and_several_keep_their_answers_r7_c4() {
    let mut chat = booking();
    let turn = chat.ask("go").await.unwrap();
    let request = &turn.pending_inputs()[0];
    assert_eq!(
        (request.question.as_str(), request.tool.as_str()),
        ("How many on Friday?", "book_table")
    );
    assert_eq!(request.schema["required"], json!(["guests"]));
    assert_eq!(turn.to_string(), "`book_table` asks: How many on Friday?");
    assert_eq!(
        chat.ask("another").await.unwrap_err().kind(),
        ChatErrorKind::PendingToolCalls
    );
    for wrong in [
        json!({}),
        json!({ "guests": 0 }),
        json!({ "guests": "many" }),
        json!({ "guests": 1, "x": 1 }),
        json!("four"),
    ] {
        let error = chat.answer(request, wrong).unwrap_err();
        assert_eq!(error.kind(), ChatErrorKind::InvalidInput, "{error}");
    }
    chat.answer(request, json!({ "guests": 4 })).unwrap();
    assert_eq!(
        chat.answer(request, json!({ "guests": 5 }))
            .unwrap_err()
            .kind(),
        ChatErrorKind::NoSuchCall
    );
    let turn = chat.complete().await.unwrap();
    assert_eq!(turn.pending_inputs()[0].question, "Are you sure?");
    chat.answer(&turn.pending_inputs()[0], json!({ "sure": true }))
        .unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "booked");
    assert_eq!(
        results(&chat)[0].text,
        "4 guests, note \"none\", sure: true"
    );
    assert_paired(chat.messages());
}

#[tokio::test]
async fn a_declined_question_lets_the_tool_decide_r7() {
    let mut chat = booking();
    let turn = chat.ask("go").await.unwrap();
    chat.decline(&turn.pending_inputs()[0]).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(results(&chat)[0].text, "nobody comes");
    assert_eq!(
        chat.decline("call_0_0").unwrap_err().kind(),
        ChatErrorKind::NoSuchCall
    );
}

/// Asks with a form that cannot be sent as it is shown.
#[tool]
async fn ask_ill(fields: serde_json::Value, tool_call: &ToolCall) -> Result<String, ToolError> {
    tool_call.ask("How many?", fields).await?;
    Ok("asked".into())
}

#[tokio::test]
async fn a_form_that_nobody_could_send_is_not_put_r7() {
    let ill = [
        json!({ "size": { "type": "integer", "default": "many" } }),
        json!({ "a": { "type": "string", "required": true }, "size": { "type": "integer", "minimum": 1, "default": 0 } }),
        json!({ "size": { "type": "int" } }),
    ];
    let expected = [
        "a default does not fit its field: /size: expected an integer, got the string \"many\"",
        "a default does not fit its field: /size: ",
        "`type` is `\"int\"`",
    ];
    let calls = ill.map(|fields| ("ask_ill", json!({ "fields": fields })));
    let fitting = json!({ "a": { "type": "string", "required": true }, "size": { "type": "integer", "default": 2 }, "none": { "type": "string", "default": null } });
    let model = ScriptedModel::new()
        .calls(
            calls
                .into_iter()
                .chain([("ask_ill", json!({ "fields": fitting }))]),
        )
        .text("done");
    let mut chat = Chat::new(model).with_tools(tools![AskIll]);
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.pending_inputs().len(), 1);
    chat.answer(&turn.pending_inputs()[0], json!({ "a": "b" }))
        .unwrap();
    chat.complete().await.unwrap();
    let results = results(&chat);
    for (result, expected) in results.iter().zip(expected) {
        assert_eq!(result.outcome, Outcome::Error);
        let expected = format!("the fields of the question are no form: {expected}");
        assert!(result.text.starts_with(&expected), "{}", result.text);
    }
    assert_eq!(results[3].text, "asked");
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Address {
    city: String,
    zip: Option<String>,
}

/// Ships.
#[tool]
async fn ship(tool_call: &ToolCall) -> Result<String, ToolError> {
    let address = tool_call
        .ask_for::<Address>("Where to?")
        .await?
        .into_value();
    let visited = tool_call
        .ask_to_visit("Please sign", "https://example.org/sign")
        .await?
        .accepted();
    Ok(format!(
        "{:?} {visited}",
        address.map(|address| (address.city, address.zip))
    ))
}

#[tokio::test]
async fn questions_can_be_typed_or_a_page_to_visit_r7() {
    let mut chat = Chat::new(ScriptedModel::new().call("ship", json!({})).text("done"))
        .with_tools(tools![Ship]);
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(
        turn.pending_inputs()[0].schema["properties"]["city"]["type"],
        "string"
    );
    chat.answer("call_0_0", json!({ "city": "Paris" })).unwrap();
    let turn = chat.complete().await.unwrap();
    assert_eq!(
        turn.pending_inputs()[0].url.as_deref(),
        Some("https://example.org/sign")
    );
    chat.answer("call_0_0", json!({})).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(results(&chat)[0].text, "Some((\"Paris\", None)) true");
}

#[tokio::test]
async fn outside_a_chat_a_question_is_an_error_r7() {
    let error = Ship.call(json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InputRequired);
    assert!(error.to_string().contains("Where to?"));
}

#[tokio::test]
async fn a_question_in_a_concurrent_round_holds_up_no_other_call_r7_c5() {
    let mut chat = booking().with_config(Config::new().concurrency(4));
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.pending_inputs().len(), 1);
    chat.decline("call_0_0").unwrap();
    chat.complete().await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Ok]);
}

/// Refunds an order.
#[tool(requires_approval)]
async fn refund(order: u32) -> String {
    format!("refunded {order}")
}

#[tokio::test]
async fn an_approval_may_carry_other_arguments_c3() {
    let mut chat = Chat::new(
        ScriptedModel::new()
            .call("refund", json!({ "order": 1 }))
            .text("done"),
    )
    .with_tools(tools![Refund]);
    let turn = chat.ask("go").await.unwrap();
    let call = &turn.pending_approvals()[0];
    let error = chat
        .approve_with(call, json!({ "order": "x" }))
        .unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::InvalidInput);
    assert!(chat.awaiting_approval(), "it still waits");
    chat.approve_with(call, json!({ "order": 2 })).unwrap();
    chat.complete().await.unwrap();
    // Else the model would tell of what it asked for.
    assert_eq!(
        results(&chat)[0].text,
        "refunded 2\n\n(A person changed the arguments to {\"order\":2} before this ran.)"
    );
}

#[tokio::test]
async fn arguments_that_are_the_same_are_not_said_to_be_changed_c3() {
    let model = ScriptedModel::new().call("refund", "{ \"order\": 1 }");
    let mut chat = Chat::new(model.text("done")).with_tools(tools![Refund]);
    let turn = chat.ask("go").await.unwrap();
    let call = &turn.pending_approvals()[0];
    chat.approve_with(call, json!({ "order": 1 })).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(results(&chat)[0].text, "refunded 1");
}

async fn forgetful(call: &ToolCall) -> Decision {
    match call.arguments.as_str() {
        text if text.contains('1') => panic!("the database is gone"),
        _ => Decision::denied("policy"),
    }
}

/// Deletes a record.
#[tool(approval = forgetful)]
async fn delete(id: u32) -> u32 {
    id
}

#[tokio::test]
async fn a_resolver_that_panics_has_not_decided_and_is_reported_c3() {
    let calls = [
        ("delete", json!({ "id": 1 })),
        ("delete", json!({ "id": 2 })),
    ];
    let mut chat =
        Chat::new(ScriptedModel::new().calls(calls).text("done")).with_tools(tools![Delete]);
    let mut events = chat.events();
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.pending_approvals().len(), 1);
    let mut warnings = 0;
    while let Some(event) = events.try_next() {
        warnings += usize::from(
            matches!(event, Event::Warning(text) if text.contains("`delete`") && !text.contains("database")),
        );
    }
    assert!(warnings > 0);
    chat.deny(&turn.pending_approvals()[0]).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Denied, Outcome::Denied]);
    assert!(results(&chat)[1].text.contains("policy"));
}

static STARTED: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(0);

async fn hang() {
    STARTED.add_permits(1);
    std::future::pending::<()>().await;
}

/// Runs again.
#[tool(after_crash = "rerun")]
async fn rerun(tool_call: &ToolCall, #[param(default)] _n: u32) -> String {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    if RUNS.fetch_add(1, Ordering::SeqCst) == 0 {
        hang().await;
    }
    tool_call.idempotency_key().to_owned()
}

/// Is reviewed.
#[tool(after_crash = "review")]
async fn review() -> &'static str {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    if RUNS.fetch_add(1, Ordering::SeqCst) == 0 {
        hang().await;
    }
    "done"
}

/// Is reported.
#[tool(after_crash = "report")]
async fn report() {
    hang().await;
}

#[tokio::test]
async fn an_interrupted_call_is_rerun_reviewed_or_reported_b118_b119() {
    for (name, expected) in [
        ("rerun", Outcome::Ok),
        ("review", Outcome::Ok),
        ("report", Outcome::Unknown),
    ] {
        let keys = Log::default();
        let seen = keys.clone();
        let mut chat = Chat::new(ScriptedModel::new().call(name, json!({})).text("done"))
            .with_tools(tools![Rerun, Review, Report])
            .before_tool_call(move |call| seen.add(call.idempotency_key()));
        tokio::select! {
            _ = chat.ask("go") => panic!("it hangs"),
            permit = STARTED.acquire() => permit.unwrap().forget(),
        }
        let mut turn = chat.complete().await.unwrap();
        if name == "review" {
            assert!(turn.pending_approvals()[0].possibly_done);
            chat.approve("call_0_0").unwrap();
            turn = chat.complete().await.unwrap();
        }
        assert_eq!(turn.text(), "done");
        assert_eq!(outcomes(&chat), [expected]);
        let keys = keys.lines();
        assert!(
            keys.iter().all(|key| *key == keys[0]),
            "the same key each time"
        );
        assert_paired(chat.messages());
    }
}

#[tokio::test]
async fn limits_stop_with_a_transcript_that_goes_on_c9_b101() {
    let fail = || tool("fail", || async { Err(ToolError::new("no")) });
    let script = || {
        (0..4).fold(ScriptedModel::new(), |model, _| {
            model.call("fail", json!({})).usage(Usage::new(10, 10))
        })
    };
    for (limits, stop, made) in [
        (Limits::new().rounds(2), Stop::Rounds, 2),
        (Limits::new().tool_calls(3), Stop::ToolCalls, 3),
        (Limits::new().tokens(40), Stop::Tokens, 2),
        (
            Limits::new().consecutive_failures(3),
            Stop::ConsecutiveFailures,
            3,
        ),
    ] {
        let model = script();
        let mut chat = Chat::new(model.clone())
            .with_tools(set([fail()]))
            .with_limits(limits);
        assert_eq!(chat.ask("go").await.unwrap(), Turn::Stopped(stop));
        assert_eq!(results(&chat).len(), made);
        assert_paired(chat.messages());
        assert_eq!(
            chat.complete().await.unwrap(),
            Turn::Stopped(stop),
            "it stays stopped"
        );
        chat.set_limits(Limits::new().rounds(4));
        assert_eq!(
            chat.complete().await.unwrap(),
            Turn::Stopped(Stop::Rounds),
            "it goes on"
        );
        assert_eq!(model.remaining(), 0);
    }
}

#[tokio::test]
async fn calls_beyond_the_limit_of_tool_calls_do_not_run_c9() {
    let calls = (0..5).map(|_| ("ok", json!({})));
    let mut chat = Chat::new(ScriptedModel::new().calls(calls))
        .with_tools(set([echo("ok")]))
        .with_limits(Limits::new().tool_calls(3));
    assert_eq!(
        chat.ask("go").await.unwrap(),
        Turn::Stopped(Stop::ToolCalls)
    );
    let expected = [
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Ok,
        Outcome::NotStarted,
        Outcome::NotStarted,
    ];
    assert_eq!(outcomes(&chat), expected);
}

#[tokio::test]
async fn a_thousand_calls_in_one_message_work_c5() {
    for concurrency in [1, 8, usize::MAX] {
        let calls = (0..1000).map(|_| ("ok", json!({})));
        let mut chat = Chat::new(ScriptedModel::new().calls(calls).text("done"))
            .with_tools(set([echo("ok")]))
            .with_config(Config::new().concurrency(concurrency));
        chat.ask("go").await.unwrap();
        assert_eq!(results(&chat).len(), 1000);
        assert_paired(chat.messages());
    }
}

#[tokio::test(start_paused = true)]
async fn the_configuration_limits_a_tool_that_does_not_say_r10_c10() {
    let forever = tool("forever", || async {
        tokio::time::sleep(std::time::Duration::from_secs(1_000_000)).await;
        Ok(1.into())
    });
    let mut chat = Chat::new(ScriptedModel::new().call("forever", json!({})).text("done"))
        .with_tools(set([forever]))
        .with_config(Config::new().max_run_time(Some(std::time::Duration::from_secs(90))));
    chat.ask("go").await.unwrap();
    assert_eq!(
        results(&chat)[0].text,
        "The tool did not finish within 90s. It was stopped."
    );
    let _: Arc<dyn Tool> = echo("unused");
}
