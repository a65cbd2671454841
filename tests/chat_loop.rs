//! C1, C2, C6, C12, R4, R5, and CASES.md H: the loop.

mod support;

use std::sync::Arc;

use serde_json::json;
use support::chat::{Log, assert_paired, echo, outcomes, results, set, tool};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Calls, Chat, ChatErrorKind, Event, FinishReason, Limits, Message, ModelError, ModelErrorKind,
    Outcome, Stop, ToolChoice, ToolError, ToolOptions, Turn, Usage, tool, tools,
};

fn many(names: &[&'static str]) -> Vec<(&'static str, serde_json::Value)> {
    names.iter().map(|name| (*name, json!({}))).collect()
}

#[tokio::test]
async fn ask_runs_the_loop_to_the_answer_c1() {
    let model = ScriptedModel::new()
        .call("a", json!({}))
        .call("b", "")
        .text("done");
    let mut chat = Chat::new(model.clone())
        .with_tools(set([echo("a"), echo("b")]))
        .with_instructions("Be brief.");
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.to_string(), "done");
    assert!(chat.is_complete());
    assert_paired(chat.messages());
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].instructions.as_deref(), Some("Be brief."));
    assert_eq!(requests[0].tools, ["a", "b"]);
    assert_eq!(
        requests
            .iter()
            .map(|request| request.messages.len())
            .collect::<Vec<_>>(),
        [1, 3, 5]
    );
    assert_eq!(
        results(&chat)
            .iter()
            .map(|result| result.text.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
}

#[tokio::test]
async fn step_until_complete_is_the_loop_c1() {
    let model = ScriptedModel::new().call("a", json!({})).text("done");
    let mut chat = Chat::new(model).with_tools(set([echo("a")]));
    assert!(chat.is_complete());
    chat.ask_later("go").unwrap();
    let mut steps = 0;
    let turn = loop {
        assert!(!chat.is_complete() || steps == 3);
        if let Some(turn) = chat.step().await.unwrap() {
            break turn;
        }
        steps += 1;
    };
    assert_eq!((steps, turn.text().as_str()), (3, "done"));
}

#[tokio::test]
async fn generate_and_run_tools_are_the_halves_of_a_step_c1() {
    let model = ScriptedModel::new().call("a", json!({})).text("done");
    let mut chat = Chat::new(model).with_tools(set([echo("a")]));
    chat.ask_later("go").unwrap();
    let answer = chat.generate().await.unwrap().unwrap();
    assert_eq!(answer.tool_calls().count(), 1);
    assert_eq!(
        chat.generate().await.unwrap_err().kind(),
        ChatErrorKind::PendingToolCalls
    );
    chat.run_tools().await.unwrap();
    assert_paired(chat.messages());
    chat.generate().await.unwrap();
    assert!(chat.is_complete());
}

#[tokio::test]
async fn results_of_several_calls_go_back_in_one_request_b91() {
    let model = ScriptedModel::new()
        .calls(many(&["a", "b", "a"]))
        .text("done");
    let mut chat = Chat::new(model.clone()).with_tools(set([echo("a"), echo("b")]));
    chat.ask("go").await.unwrap();
    assert_eq!(model.requests().len(), 2);
    assert_eq!(model.requests()[1].messages.len(), 5);
    assert_paired(chat.messages());
}

#[tokio::test]
async fn an_unknown_tool_gets_an_error_that_lists_the_visible_ones_r5_b79_b92() {
    let model = ScriptedModel::new()
        .calls(many(&["known", "nope"]))
        .text("done");
    let hidden = tool_core::FunctionTool::new(
        "hidden",
        "d",
        json!({ "type": "object" }),
        async |_: serde_json::Value| Ok::<_, ToolError>(1),
    )
    .unwrap()
    .define(tool_core::ToolDefinition::deferred);
    let mut chat = Chat::new(model).with_tools(set([echo("known"), Arc::new(hidden)]));
    chat.ask("go").await.unwrap();
    let results = results(&chat);
    assert_eq!(results[0].outcome, Outcome::Ok);
    assert_eq!(
        results[1].text,
        "There is no tool `nope`. The tools are: known, search_tools, call_tool."
    );
    assert!(results[1].is_error());
}

#[tokio::test]
async fn a_failure_is_read_by_the_model_and_a_fatal_one_stops_r4() {
    let fail = tool("fail", || async { Err(ToolError::new("no such order")) });
    let said = tool("said", || async { Ok(json!({ "error": "closed" })) });
    let fatal = tool("fatal", || async {
        Err(ToolError::fatal("the database is gone"))
    });
    let model = ScriptedModel::new()
        .calls(many(&["fail", "said", "ok", "fatal", "late"]))
        .text("sorry");
    let tools = set([fail, said, echo("ok"), fatal, echo("late")]);
    let mut chat = Chat::new(model).with_tools(tools);
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::FatalTool);
    assert_eq!(
        error.to_string(),
        "tool `fatal` stopped the chat: the database is gone"
    );
    assert!(error.tool_error().unwrap().is_fatal());
    assert_eq!(
        outcomes(&chat),
        [
            Outcome::Error,
            Outcome::Error,
            Outcome::Ok,
            Outcome::Error,
            Outcome::NotStarted
        ]
    );
    assert_eq!(results(&chat)[0].text, "no such order");
    assert_paired(chat.messages());
    assert_eq!(
        chat.complete().await.unwrap().text(),
        "sorry",
        "the chat can go on"
    );
}

#[tokio::test]
async fn a_panic_is_caught_and_its_text_is_not_shown_r4() {
    let boom = tool("boom", || async { panic!("secret detail") });
    let model = ScriptedModel::new()
        .calls(many(&["boom", "ok"]))
        .call("boom", json!({}))
        .text("done");
    let mut chat = Chat::new(model).with_tools(set([boom, echo("ok")]));
    chat.ask("go").await.unwrap();
    assert_eq!(
        outcomes(&chat),
        [Outcome::Error, Outcome::Ok, Outcome::Error]
    );
    assert!(
        results(&chat)
            .iter()
            .all(|result| !result.text.contains("secret"))
    );
}

#[tokio::test]
async fn nothing_is_a_defined_result_b98() {
    let empty = tool("empty", || async { Ok("".into()) });
    let null = tool("null", || async { Ok(serde_json::Value::Null) });
    let model = ScriptedModel::new()
        .calls(many(&["empty", "null"]))
        .text("done");
    let mut chat = Chat::new(model).with_tools(set([empty, null]));
    chat.ask("go").await.unwrap();
    assert!(results(&chat).iter().all(|result| result.text == "null"));
}

#[tokio::test]
async fn a_forced_choice_is_cleared_after_a_tool_ran_c2_b100() {
    for choice in [ToolChoice::Required, ToolChoice::Tool("a".into())] {
        let model = ScriptedModel::new().call("a", json!({})).text("done");
        let options = ToolOptions::new().choice(choice.clone());
        let mut chat = Chat::new(model.clone())
            .with_tools(set([echo("a")]))
            .with_tool_options(options);
        chat.ask("go").await.unwrap();
        let choices: Vec<_> = model
            .requests()
            .into_iter()
            .map(|request| request.choice)
            .collect();
        assert_eq!(choices, [choice, ToolChoice::Auto]);
    }
}

/// Else the model would have to make the denied call again, and again.
#[tokio::test]
async fn a_forced_choice_is_cleared_when_the_call_is_denied_c2_c3() {
    /// Pays.
    #[tool(requires_approval)]
    fn pay() {}

    let model = ScriptedModel::new().call("pay", json!({})).text("done");
    let options = ToolOptions::new().choice(ToolChoice::Required);
    let mut chat = Chat::new(model.clone())
        .with_tools(tools![Pay])
        .with_tool_options(options);
    let turn = chat.ask("go").await.unwrap();
    chat.deny(&turn.pending_approvals()[0]).unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(model.requests()[1].choice, ToolChoice::Auto);
}

#[tokio::test]
async fn a_kept_choice_stays_until_the_limit_c2_b100_b101() {
    let model = ScriptedModel::new()
        .call("a", json!({}))
        .call("a", json!({}))
        .call("a", json!({}));
    let options = ToolOptions::new()
        .choice(ToolChoice::Required)
        .keep_choice();
    let mut chat = Chat::new(model.clone())
        .with_tools(set([echo("a")]))
        .with_tool_options(options)
        .with_limits(Limits::new().rounds(3));
    assert_eq!(chat.ask("go").await.unwrap(), Turn::Stopped(Stop::Rounds));
    assert!(
        model
            .requests()
            .iter()
            .all(|request| request.choice == ToolChoice::Required)
    );
    assert_paired(chat.messages());
}

#[tokio::test]
async fn an_unknown_choice_is_an_error_before_any_request_c2() {
    let model = ScriptedModel::new();
    let tools = || set([echo("a"), echo("b")]);
    let mut chat = Chat::new(model.clone())
        .with_tools(tools())
        .with_tool_options(ToolOptions::new().choice("c"));
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Configuration);
    assert_eq!(
        error.to_string(),
        "the tool `c` is to be chosen, but the chat has only: a, b"
    );
    let mut chat =
        Chat::new(model.clone()).with_tool_options(ToolOptions::new().choice(ToolChoice::Required));
    assert_eq!(
        chat.ask("go").await.unwrap_err().kind(),
        ChatErrorKind::Configuration
    );
    let mut chat = Chat::new(model.clone())
        .with_tools(tools())
        .with_tools(tools());
    assert!(
        chat.ask("go")
            .await
            .unwrap_err()
            .to_string()
            .contains("two tools are called `a`")
    );
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_c2() {
    let model = ScriptedModel::new()
        .calls(many(&["a", "a", "a"]))
        .text("done");
    let options = ToolOptions::new().calls(Calls::AtMost(2));
    let mut chat = Chat::new(model)
        .with_tools(set([echo("a")]))
        .with_tool_options(options);
    chat.ask("go").await.unwrap();
    assert_eq!(
        outcomes(&chat),
        [Outcome::Ok, Outcome::Ok, Outcome::NotStarted]
    );
    assert!(results(&chat)[2].text.contains("Ask for fewer"));
}

#[tokio::test]
async fn calls_of_a_cut_off_answer_do_not_run_b103() {
    let log = Log::default();
    let seen = log.clone();
    let a = tool("a", move || {
        seen.add("ran");
        async { Ok(1.into()) }
    });
    let model = ScriptedModel::new()
        .call("a", json!({}))
        .finish(FinishReason::Length)
        .text("done");
    let mut chat = Chat::new(model).with_tools(set([a.clone()]));
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_eq!(outcomes(&chat), [Outcome::NotStarted]);
    assert!(results(&chat)[0].text.contains("cut off"));
    let model = (0..3).fold(ScriptedModel::new(), |model, _| {
        model.call("a", "{\"x\":").finish(FinishReason::Length)
    });
    let mut chat = Chat::new(model).with_tools(set([a]));
    assert_eq!(
        chat.ask("go").await.unwrap(),
        Turn::Stopped(Stop::CutOff),
        "it does not repeat for ever"
    );
    assert_paired(chat.messages());
    assert!(log.lines().is_empty());
}

#[tokio::test]
async fn broken_arguments_are_refused_and_kept_as_they_came_b104() {
    let model = ScriptedModel::new().call("a", "{\"a\":\"b").text("done");
    let mut chat = Chat::new(model).with_tools(set([echo("a")]));
    chat.ask("go").await.unwrap();
    assert!(
        results(&chat)[0]
            .text
            .starts_with("Invalid tool arguments: not valid JSON at column")
    );
    let Message::Assistant(answer) = &chat.messages()[1] else {
        panic!()
    };
    assert_eq!(
        answer.tool_calls().next().unwrap().arguments.as_str(),
        "{\"a\":\"b"
    );
}

#[tokio::test]
async fn the_same_call_ids_in_two_rounds_are_two_calls_b74_b89() {
    let keys = Log::default();
    let model = ScriptedModel::new()
        .call("a", json!({}))
        .call("a", json!({}))
        .text("done");
    let seen = keys.clone();
    let mut chat = Chat::new(model)
        .with_tools(set([echo("a")]))
        .before_tool_call(move |call| seen.add(call.idempotency_key()));
    chat.ask("go").await.unwrap();
    let keys = keys.lines();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test]
async fn a_model_error_leaves_a_transcript_that_goes_on() {
    let error = ModelError::new(ModelErrorKind::Overloaded, "try later")
        .with_status(529)
        .with_request_id(Some("req_1".into()));
    let model = ScriptedModel::new()
        .call("a", json!({}))
        .error(error)
        .text("done");
    let mut chat = Chat::new(model).with_tools(set([echo("a")]));
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Model);
    assert_eq!(error.model_error().unwrap().status(), Some(529));
    assert_eq!(
        error.to_string(),
        "the model could not answer: try later (status 529, request req_1)"
    );
    assert_paired(chat.messages());
    assert_eq!(chat.complete().await.unwrap().text(), "done");
}

#[tokio::test]
async fn callbacks_and_events_come_in_order_c6() {
    let log = Log::default();
    let (calls, results, messages, events) = (log.clone(), log.clone(), log.clone(), log.clone());
    let model = ScriptedModel::new().call("a", json!({})).text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([echo("a")]))
        .before_message({
            let log = log.clone();
            move || log.add("before message")
        })
        .after_message(move |message| messages.add(format!("message {:?}", message.role())))
        .before_tool_call(move |call| calls.add(format!("call {}", call.name)))
        .after_tool_result(move |result| results.add(format!("result {}", result.text)))
        .on_event(move |event| {
            if let Event::Text(text) = event {
                events.add(format!("text {text}"));
            }
        });
    let mut stream = chat.events();
    chat.ask("go").await.unwrap();
    let expected = [
        "message User",
        "before message",
        "message Assistant",
        "call a",
        "result a",
        "message Tool",
        "before message",
        "text done",
        "message Assistant",
    ];
    assert_eq!(log.lines(), expected);
    let mut kinds = Vec::new();
    while let Some(event) = stream.try_next() {
        kinds.push(match event {
            Event::Text(_) => "text",
            Event::Message(_) => "message",
            Event::ToolCall(_) => "call",
            Event::ToolResult(_) => "result",
            Event::End => "end",
            _ => "other",
        });
    }
    assert_eq!(
        kinds,
        [
            "message", "message", "call", "result", "message", "text", "message", "end"
        ]
    );
}

#[tokio::test]
async fn usage_adds_up_c11() {
    let model = ScriptedModel::new()
        .call("a", json!({}))
        .usage(Usage::new(10, 5))
        .text("done")
        .usage(Usage::new(20, 7).with_cached_input_tokens(8));
    let mut chat = Chat::new(model).with_tools(set([echo("a")]));
    chat.ask("go").await.unwrap();
    assert_eq!(
        (
            chat.usage().input_tokens,
            chat.usage().output_tokens,
            chat.usage().cached_input_tokens
        ),
        (30, 12, 8)
    );
}

#[test]
fn a_script_that_is_not_used_up_fails_the_test_c12() {
    let model = ScriptedModel::new().text("never asked");
    let message = std::panic::catch_unwind(move || drop(model)).unwrap_err();
    assert_eq!(
        message.downcast_ref::<String>().unwrap(),
        "1 answer(s) of the script were never asked for"
    );
}

#[tokio::test]
#[should_panic(expected = "asked more often than its script has answers")]
async fn a_script_that_is_too_short_fails_the_test_c12() {
    let _ = Chat::new(ScriptedModel::new()).ask("go").await;
}
