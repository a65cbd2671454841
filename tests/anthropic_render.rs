//! P2, P3, P7, CASES C, K: what is sent to a server of Messages.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::asking::{
    Asking, as_it_is, assert_rendered_once, assert_unsupported, attached, bare, broken_arguments,
    call, empty_schema, members, notes, pdf, png, schema, strict, tool, tool_of,
};
use tool_core::model::{RemoteMcp, Request};
use tool_core::{
    Attachment, Block, Calls, FinishReason, ModelErrorKind, RequestOptions, ToolCall, ToolChoice,
};
use tool_providers::Api;
use tool_providers::protocol::anthropic::Dialect;

fn asking() -> Asking {
    Asking::new(Api::anthropic())
}

fn messages(asking: &Asking) -> Value {
    asking.body()["messages"].clone()
}

fn answer(content: &Value) -> Value {
    json!({ "content": content, "stop_reason": "tool_use" })
}

#[test]
fn a_request_without_tools_says_nothing_of_tools() {
    let mut asking = asking();
    asking.instructions = Some("Be \"kind\".");
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    let expected = json!({ "model": "m", "max_tokens": 8192, "stream": false, "system": "Be \"kind\".",
        "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(asking.body(), expected);
}

/// B43, B44, B50: strict where it was asked for; what is optional stays so.
#[test]
fn b43_b50_tools_are_declared_first_and_the_search_last() {
    let mut asking = asking().with_tools([
        tool("f", as_it_is),
        tool("g", strict),
        tool("h", |definition| definition.deferred()),
        bare("now"),
    ]);
    assert!(asking.text().starts_with("{\"tools\":[{\"name\":\"f\""));
    let declared = |name: &str, schema: Value| json!({ "name": name, "description": "Tells.", "input_schema": schema });
    let held = json!({ "type": "object", "properties": {
        "city": { "type": "string", "description": "minLength: 2" },
        "days": { "type": "integer" },
    }, "required": ["city"], "additionalProperties": false });
    let mut held = declared("g", held);
    held["strict"] = true.into();
    let mut deferred = declared("h", schema());
    deferred["defer_loading"] = true.into();
    let mut expected = vec![
        declared("f", schema()),
        held,
        deferred,
        declared("now", empty_schema()),
        json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" }),
    ];
    assert_eq!(asking.body()["tools"], json!(expected));

    let mut dialect = Dialect::STANDARD;
    dialect.tool_search = false;
    dialect.strict = false;
    asking.protocol = Api::Anthropic(dialect).protocol("there");
    expected.pop();
    expected[1] = declared("g", schema());
    expected[2].as_object_mut().unwrap().remove("defer_loading");
    assert_eq!(asking.body()["tools"], json!(expected));
}

#[test]
fn a_tools_own_members_go_to_their_protocol_alone() {
    let ours = members(
        json!({ "cache_control": { "type": "ephemeral" }, "input_examples": [{ "city": "Rome" }] }),
    );
    let others = members(json!({ "allowed_callers": ["direct"] }));
    let asking = asking().with_tools([tool("f", |definition| {
        definition
            .with_provider_options(Some("anthropic"), ours)
            .with_provider_options(Some("responses"), others)
    })]);
    let declared = &asking.body()["tools"][0];
    assert_eq!(declared["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(declared["input_examples"][0]["city"], "Rome");
    assert_eq!(declared.get("allowed_callers"), None);
}

#[test]
fn a_choice_and_the_number_of_calls_are_said() {
    let mut asking = asking().with_tools([bare("f"), bare("g"), bare("h")]);
    let said = |asking: &Asking| asking.body()["tool_choice"].clone();
    assert_eq!(said(&asking), Value::Null);
    asking.calls = Calls::Many;
    assert_eq!(said(&asking), Value::Null);
    asking.calls = Calls::One;
    assert_eq!(
        said(&asking),
        json!({ "type": "auto", "disable_parallel_tool_use": true })
    );
    asking.choice = ToolChoice::Required;
    assert_eq!(
        said(&asking),
        json!({ "type": "any", "disable_parallel_tool_use": true })
    );
    asking.choice = ToolChoice::Tool("g".into());
    asking.calls = Calls::Any;
    assert_eq!(said(&asking), json!({ "type": "tool", "name": "g" }));
    // With no call at all the number of calls is a 400.
    asking.choice = ToolChoice::None;
    asking.calls = Calls::One;
    assert_eq!(said(&asking), json!({ "type": "none" }));
}

#[test]
fn some_of_the_tools_are_chosen_by_declaring_those_alone() {
    let deferred = tool_of("h", json!({ "type": "object" }), |definition| {
        definition.deferred()
    });
    let mut asking = asking().with_tools([bare("f"), bare("g"), deferred]);
    let names = |asking: &Asking| -> Vec<String> {
        let body = asking.body();
        let tools = body["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().into())
            .collect()
    };
    let search = "tool_search_tool_bm25";
    assert_eq!(names(&asking), ["f", "g", "h", search]);
    asking.only(&["f", "h"]);
    assert_eq!(names(&asking), ["f", "h", search]);
    // Nothing is left to be found.
    asking.only(&["f", "g"]);
    assert_eq!(names(&asking), ["f", "g"]);
    asking.choice = ToolChoice::Required;
    assert_eq!(names(&asking), ["f", "g"]);
    // No call at all, or one tool, can be said of all of them.
    asking.choice = ToolChoice::None;
    assert_eq!(names(&asking), ["f", "g", "h", search]);
    asking.choice = ToolChoice::Tool("f".into());
    assert_eq!(names(&asking), ["f", "g", "h", search]);
}

/// A forced choice is a 400 while the model thinks by a budget; adaptive thinking allows it.
#[test]
fn a_model_that_thinks_by_a_budget_is_told_to_call_a_tool() {
    let mut asking = asking().with_tools([bare("f"), bare("g")]);
    asking.instructions = Some("Be kind.");
    asking.choice = ToolChoice::Tool("g".into());
    asking.options = RequestOptions::new().extra(
        "thinking",
        json!({ "type": "enabled", "budget_tokens": 3000 }),
    );
    let body = asking.body();
    assert_eq!(body["tool_choice"], json!({ "type": "auto" }));
    assert_eq!(body["system"], "Be kind.\n\nCall the tool `g` now.");
    // The budget is part of the limit.
    assert_eq!(body["max_tokens"], 11192);
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    let body = asking.body();
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "auto", "disable_parallel_tool_use": true })
    );
    assert_eq!(body["system"], "Be kind.\n\nCall one of the tools now.");

    asking.options = RequestOptions::new().extra("thinking", json!({ "type": "adaptive" }));
    let body = asking.body();
    assert_eq!(body["tool_choice"]["type"], "any");
    assert_eq!(
        (&body["system"], &body["max_tokens"]),
        (&json!("Be kind."), &json!(8192))
    );
}

#[test]
fn options_are_named_and_extra_members_win() {
    let mut asking = asking();
    asking.stream = true;
    asking.options = RequestOptions::new()
        .temperature(0.5)
        .max_tokens(9)
        .extra("top_k", 3);
    let body = asking.body();
    assert_eq!(
        (&body["temperature"], &body["max_tokens"], &body["top_k"]),
        (&json!(0.5), &json!(9), &json!(3))
    );
    assert_eq!(body["stream"], true);
    let system =
        json!([{ "type": "text", "text": "mine", "cache_control": { "type": "ephemeral" } }]);
    asking.instructions = Some("ours");
    asking.options = asking
        .options
        .extra("max_tokens", 5)
        .extra("system", system.clone())
        .extra("messages", json!([]));
    let text = asking.text();
    for once in ["\"max_tokens\"", "\"system\"", "\"messages\""] {
        assert_eq!(text.matches(once).count(), 1, "{text}");
    }
    assert_eq!(
        (&asking.body()["system"], &asking.body()["max_tokens"]),
        (&system, &json!(5))
    );
}

#[test]
fn what_a_user_attaches_is_sent_as_blocks_and_what_cannot_be_sent_is_an_error() {
    let content = |attachment| {
        attached(Api::anthropic(), attachment).map(|body| body["messages"][0]["content"].clone())
    };
    let base64 =
        |kind: &str, data: &str| json!({ "type": "base64", "media_type": kind, "data": data });
    let url = |address: &str| json!({ "type": "url", "url": address });
    let seen = json!({ "type": "text", "text": "see" });
    for (attachment, block) in [
        (
            png(),
            json!({ "type": "image", "source": base64("image/png", "cG5n") }),
        ),
        (
            Attachment::from_url("image/png", "https://x/y.png"),
            json!({ "type": "image", "source": url("https://x/y.png") }),
        ),
        (
            pdf(),
            json!({ "type": "document", "source": base64("application/pdf", "JVBERg=="), "title": "a.pdf" }),
        ),
        (
            Attachment::from_url("application/pdf", "https://x/y.pdf"),
            json!({ "type": "document", "source": url("https://x/y.pdf") }),
        ),
        (notes(), json!({ "type": "text", "text": "a.md:\n# č" })),
    ] {
        assert_eq!(content(attachment).unwrap(), json!([block, seen]));
    }
    assert_unsupported(content(Attachment::from_bytes("video/mp4", b"x")));
    assert_unsupported(content(Attachment::from_url(
        "text/plain",
        "https://x/y.txt",
    )));
}

/// B98 too: a result is never empty.
#[test]
fn all_results_of_an_answer_are_in_one_message_with_what_was_said_after_it() {
    let mut asking = asking();
    asking.answered_elsewhere(["a", "b", "c", "d"].map(|id| call(id, "{}")));
    asking.result("a", "ok", "one");
    asking.result("b", "error", "it broke");
    asking.result("c", "denied", "no");
    asking.result_with("d", "ok", "", vec![png()]);
    asking.said("and?");
    let result = |id: &str, content: Value| json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    let error = |id: &str, content: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": true });
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
    let expected = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": [call("a"), call("b"), call("c"), call("d")] },
        { "role": "user", "content": [
            result("a", json!("one")),
            error("b", "it broke"),
            error("c", "no"),
            result("d", json!([{ "type": "text", "text": "(no output)" }, image])),
        ] },
        { "role": "user", "content": "and?" },
    ]);
    assert_eq!(messages(&asking), expected);
}

#[test]
fn p2_an_answer_goes_back_word_for_word_to_its_host_and_rebuilt_to_others() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "s1" },
        { "type": "redacted_thinking", "data": "xyz" },
        { "type": "text", "text": "So: ", "citations": null },
        { "type": "thinking", "thinking": "", "signature": "s2" },
        { "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "x": 1.0 }, "caller": { "type": "direct" } },
    ]);
    let mut asking = asking();
    asking.answered(answer(&content));
    asking.result("toolu_1", "ok", "one");
    assert_eq!(messages(&asking)[1]["content"], content);

    asking.protocol = Api::anthropic().protocol("there");
    let rebuilt = json!([
        { "type": "text", "text": "So: " },
        { "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "x": 1.0 } },
    ]);
    assert_eq!(messages(&asking)[1]["content"], rebuilt);

    let mut asking = self::asking();
    asking.answered_elsewhere([Block::Thinking("hm".into())]);
    assert_eq!(
        messages(&asking)[1]["content"],
        json!([{ "type": "text", "text": "(no words)" }])
    );
}

/// Text of white space alone is a 400.
#[test]
fn white_space_alone_is_not_sent() {
    let mut asking = asking();
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "f", "input": {} });
    asking.answered(answer(&json!([{ "type": "text", "text": "\n\n" }, call])));
    asking.result("toolu_1", "ok", "  \n");
    asking.said(" ");
    let sent = messages(&asking);
    assert_eq!(sent[1]["content"], json!([call]));
    assert_eq!(sent[2]["content"][0]["content"], "(no output)");
    assert_eq!(sent[3]["content"], "(no words)");
}

#[test]
fn b52_a_foreign_id_is_mapped_and_our_own_is_not() {
    let mut asking = asking();
    asking.answered_elsewhere([call("functions.f:0", "{}"), call("toolu_1", "{}")]);
    asking.result("functions.f:0", "ok", "one");
    asking.result("toolu_1", "ok", "two");
    let sent = messages(&asking);
    let mapped = sent[1]["content"][0]["id"].as_str().unwrap();
    assert!(
        mapped
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        "{mapped}"
    );
    assert_eq!(sent[2]["content"][0]["tool_use_id"], mapped);
    assert_eq!(sent[2]["content"][1]["tool_use_id"], "toolu_1");
    assert_eq!(messages(&asking), sent);

    // A host that gives such ids takes them back.
    let mut asking = self::asking();
    asking.answered(answer(
        &json!([{ "type": "tool_use", "id": "functions.f:0", "name": "f", "input": {} }]),
    ));
    asking.result("functions.f:0", "ok", "one");
    let sent = messages(&asking);
    assert_eq!(sent[1]["content"][0]["id"], "functions.f:0");
    assert_eq!(sent[2]["content"][0]["tool_use_id"], "functions.f:0");

    // One that gives none is sent the one that we made.
    let mut asking = self::asking();
    let answered = asking.answered(answer(
        &json!([{ "type": "tool_use", "name": "f", "input": {} }]),
    ));
    let id = answered.tool_calls().next().unwrap().id.clone();
    asking.result(&id, "ok", "one");
    let sent = messages(&asking);
    assert_eq!(
        (
            &sent[1]["content"][0]["id"],
            &sent[2]["content"][0]["tool_use_id"]
        ),
        (&json!(id), &json!(id))
    );
}

#[test]
fn b104_arguments_that_are_no_object_go_back_as_one_that_carries_them() {
    for (sent, back) in broken_arguments() {
        let mut asking = asking();
        asking.answered_elsewhere([call("c", sent)]);
        asking.result("c", "error", "no");
        assert_eq!(
            messages(&asking)[1]["content"][0]["input"],
            back,
            "{sent:?}"
        );
    }
}

#[test]
fn what_a_search_found_goes_back_while_there_is_a_search() {
    let found = json!([
        { "type": "text", "text": "Let me see." },
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": { "query": "f" } },
        { "type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {
            "type": "tool_search_tool_search_result", "tool_references": [{ "type": "tool_reference", "tool_name": "f" }] } },
        { "type": "tool_use", "id": "toolu_1", "name": "f", "input": {} },
    ]);
    let deferred = || {
        tool_of("f", json!({ "type": "object" }), |definition| {
            definition.deferred()
        })
    };
    let mut asking = asking().with_tools([deferred(), bare("g")]);
    asking.answered(answer(&found));
    asking.result("toolu_1", "ok", "one");
    assert_eq!(messages(&asking)[1]["content"], found);
    // No tool waits to be found any more.
    let mut asking = asking.with_tools([bare("f"), bare("g")]);
    assert_eq!(messages(&asking)[1]["content"], json!([found[0], found[3]]));
    asking.transcript.truncate(1);
    asking.answered(answer(&json!([found[1], found[2]])));
    assert_eq!(
        messages(&asking)[1]["content"],
        json!([{ "type": "text", "text": "(no words)" }])
    );
    let asking = asking.with_tools([deferred()]);
    assert_eq!(messages(&asking)[1]["content"], json!([found[1], found[2]]));
}

#[test]
fn an_interrupted_answer_is_sent_back_to_be_continued() {
    let content = json!([{ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "x" } }]);
    let mut asking = asking();
    asking.options = RequestOptions::new().hosted_tool(
        "anthropic",
        json!({ "type": "web_search_20250305", "name": "web_search" }),
    );
    let answered = asking.answered(json!({ "content": content, "stop_reason": "pause_turn" }));
    assert_eq!(answered.finish, FinishReason::Interrupted);
    let body = asking.body();
    let expected =
        json!([{ "role": "user", "content": "hi" }, { "role": "assistant", "content": content }]);
    assert_eq!(body["messages"], expected);
    assert_eq!(
        body["tools"],
        json!([{ "type": "web_search_20250305", "name": "web_search" }])
    );
}

#[test]
fn a_remote_server_is_called_without_asking_only_where_that_is_allowed() {
    let server = || RemoteMcp::new("wiki", "https://wiki.example/mcp").authorization("t0ken");
    let with = |server: RemoteMcp| {
        let mut asking = asking().with_tools([bare("f")]);
        asking.options = RequestOptions::new().remote_mcp(server);
        asking
    };
    for refused in [
        server(),
        server().without_approval_of(["ask"]),
        server().without_approval().header("x", "y"),
    ] {
        let error = with(refused).error();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        assert!(
            error.message().contains("`wiki`") && !error.to_string().contains("t0ken"),
            "{error}"
        );
    }
    let asking = with(
        server()
            .without_approval()
            .allowed_tools(["ask"])
            .deferred(),
    );
    let body = asking.body();
    let declared = json!([{ "type": "url", "name": "wiki", "url": "https://wiki.example/mcp", "authorization_token": "t0ken" }]);
    assert_eq!(body["mcp_servers"], declared);
    let toolset = json!({ "type": "mcp_toolset", "mcp_server_name": "wiki",
        "default_config": { "enabled": false, "defer_loading": true }, "configs": { "ask": { "enabled": true } } });
    let search =
        json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" });
    let declared = body["tools"].as_array().unwrap();
    assert_eq!(declared[1..], [toolset, search]);
    let request = Request::new(
        &asking.transcript,
        &asking.tools,
        &asking.choice,
        &asking.options,
    );
    assert!(
        asking
            .protocol
            .headers(&request)
            .contains(&("anthropic-beta", "mcp-client-2025-11-20"))
    );

    // A call that waited for approval elsewhere is not known here.
    let mut asking = self::asking();
    let remote = ToolCall::new("mcpr_1", "ask", "{}").on_server("wiki");
    asking.answered_elsewhere([call("a", "{}"), Block::ToolCall(remote), call("b", "{}")]);
    asking.result("a", "ok", "one");
    asking.result("mcpr_1", "approved", "{}");
    asking.result("b", "ok", "two");
    let sent = messages(&asking);
    assert_eq!(sent[1]["content"].as_array().unwrap().len(), 2);
    assert_eq!(sent[2]["content"].as_array().unwrap().len(), 2);
    assert_eq!(sent.as_array().unwrap().len(), 3);
}

#[test]
fn p3_what_strict_tools_cannot_be_is_an_error_that_names_tool_and_place() {
    let node = json!({ "type": "object", "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] } }, "required": ["next"] });
    let list = json!({ "type": "object", "properties": { "list": { "$ref": "#/$defs/Node" } }, "$defs": { "Node": node } });
    let of = |property: Value| json!({ "type": "object", "properties": { "labels": property } });
    for (schema, text) in [
        (list, "/list/next/anyOf/0 refers to itself"),
        (of(json!({})), "/labels allows any value"),
        (
            of(json!({ "type": "array", "items": {} })),
            "/labels/items allows any value",
        ),
        (
            of(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
            "/labels is an object with any keys",
        ),
    ] {
        let error = asking()
            .with_tools([tool_of("walk", schema, strict)])
            .error();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        let start = format!("the tool `walk` cannot be strict: {text}");
        assert!(error.message().starts_with(&start), "{error}");
    }
}

#[test]
fn p3_more_strict_tools_than_a_request_may_have_are_an_error() {
    let names: Vec<&'static str> = (0..21)
        .map(|number| &*format!("tool_{number}").leak())
        .collect();
    let empty = |name: &&'static str| tool_of(name, json!({ "type": "object" }), strict);
    let twenty = asking().with_tools(names[..20].iter().map(empty));
    twenty.pieces().unwrap();
    let mut asking = asking().with_tools(names.iter().map(empty));
    let error = asking.error();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(
        error.message().contains("`tool_20`") && error.message().contains("takes 20"),
        "{error}"
    );
    // Only what is declared counts.
    asking.only(&names[..20]);
    asking.pieces().unwrap();

    let parameters = |count: usize, schema: Value, required: bool| {
        let properties = (0..count).map(|number| (format!("p{number}"), schema.clone()));
        let properties: serde_json::Map<String, Value> = properties.collect();
        let names: Vec<&String> = properties.keys().collect();
        let required = if required { json!(names) } else { json!([]) };
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let union = json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] });
    for (schema, is_refused) in [
        (parameters(24, json!({ "type": "string" }), false), false),
        (parameters(25, json!({ "type": "string" }), false), true),
        (parameters(16, union.clone(), true), false),
        (parameters(17, union, true), true),
    ] {
        let result = self::asking()
            .with_tools([tool_of("many", schema, strict)])
            .pieces();
        assert_eq!(result.is_err(), is_refused);
        if let Err(error) = result {
            assert!(error.message().contains("`many`"), "{error}");
        }
    }
}

#[test]
fn p7_nothing_is_rendered_twice() {
    let mut asking = asking().with_tools([bare("f")]);
    asking.instructions = Some("Be kind.");
    assert_rendered_once(asking, &[0]);
}
