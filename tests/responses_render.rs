//! P2, P3, P7, CASES C, K: what is sent to a server of Responses.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::asking::{
    Asking, as_it_is, assert_rendered_once, assert_unsupported, attached, bare, broken_arguments,
    call, empty_schema, members, notes, pdf, png, schema, strict, tool, tool_of,
};
use tool_core::model::RemoteMcp;
use tool_core::{
    Attachment, Block, Calls, Message, ModelErrorKind, RequestOptions, ToolCall, ToolChoice,
};
use tool_providers::Api;
use tool_providers::protocol::responses::Dialect;

fn openai() -> Api {
    Api::Responses(Dialect::OPENAI)
}

fn input(asking: &Asking) -> Value {
    asking.body()["input"].clone()
}

#[test]
fn a_request_without_tools_says_nothing_of_tools() {
    let mut asking = Asking::new(openai());
    asking.instructions = Some("Be \"kind\".");
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    let expected = json!({ "model": "m", "stream": false, "store": false,
        "include": ["reasoning.encrypted_content"], "instructions": "Be \"kind\".",
        "input": [{ "role": "user", "content": "hi" }] });
    assert_eq!(asking.body(), expected);
}

/// B43, B50: each tool says for itself whether it is strict.
#[test]
fn b43_b50_tools_are_declared_first_and_the_search_last() {
    let mut asking = Asking::new(openai()).with_tools([
        tool("f", as_it_is),
        tool("g", strict),
        tool("h", |definition| definition.deferred()),
        bare("now"),
    ]);
    assert!(
        asking
            .text()
            .starts_with("{\"tools\":[{\"type\":\"function\",\"name\":\"f\"")
    );
    // B44: all are required, the optional one nullable, what has no keyword in the description.
    let held = json!({ "type": "object", "properties": {
        "city": { "type": "string", "description": "minLength: 2" },
        "days": { "type": ["integer", "null"] },
    }, "required": ["city", "days"], "additionalProperties": false });
    let declared = |name: &str, parameters: Value, strict: bool| json!({ "type": "function", "name": name, "description": "Tells.", "parameters": parameters, "strict": strict });
    let mut deferred = declared("h", schema(), false);
    deferred["defer_loading"] = true.into();
    let mut expected = vec![
        declared("f", schema(), false),
        declared("g", held, true),
        deferred,
        declared("now", empty_schema(), false),
        json!({ "type": "tool_search" }),
    ];
    assert_eq!(asking.body()["tools"], json!(expected));

    // A host that has no search is shown the tools that are not deferred, by the core.
    asking.protocol = Api::responses().protocol("there");
    expected.pop();
    expected[2].as_object_mut().unwrap().remove("defer_loading");
    assert_eq!(asking.body()["tools"], json!(expected));
}

#[test]
fn a_tools_own_members_go_to_their_protocol_alone() {
    let ours = members(json!({ "allowed_callers": ["direct"], "parameters": { "x": 1 } }));
    let others = members(json!({ "cache_control": {} }));
    let asking = Asking::new(openai()).with_tools([tool("f", |definition| {
        definition
            .with_provider_options(Some("responses"), ours)
            .with_provider_options(Some("anthropic"), others)
    })]);
    let declared = &asking.body()["tools"][0];
    assert_eq!(declared["allowed_callers"], json!(["direct"]));
    assert_eq!(
        (
            &declared["parameters"]["x"],
            &declared["parameters"]["type"]
        ),
        (&json!(1), &json!("object"))
    );
    assert_eq!(declared.get("cache_control"), None);
}

#[test]
fn a_choice_and_the_number_of_calls_are_said() {
    let mut asking = Asking::new(openai()).with_tools([bare("f"), bare("g"), bare("h")]);
    let said = |asking: &Asking| {
        let body = asking.body();
        assert_eq!(body["tools"].as_array().unwrap().len(), 3);
        (
            body["tool_choice"].clone(),
            body["parallel_tool_calls"].clone(),
        )
    };
    assert_eq!(said(&asking), (Value::Null, Value::Null));
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    assert_eq!(said(&asking), (json!("required"), json!(false)));
    asking.choice = ToolChoice::None;
    asking.calls = Calls::Many;
    assert_eq!(said(&asking), (json!("none"), json!(true)));
    asking.choice = ToolChoice::Tool("g".into());
    asking.calls = Calls::AtMost(2);
    assert_eq!(
        said(&asking),
        (json!({ "type": "function", "name": "g" }), Value::Null)
    );

    // Some of them: what is declared stays the same, so that it stays in the provider's cache.
    asking.only(&["f", "h"]);
    let some = |mode: &str| {
        json!({ "type": "allowed_tools", "mode": mode,
            "tools": [{ "type": "function", "name": "f" }, { "type": "function", "name": "h" }] })
    };
    asking.choice = ToolChoice::Auto;
    assert_eq!(said(&asking).0, some("auto"));
    asking.choice = ToolChoice::Required;
    assert_eq!(said(&asking).0, some("required"));
    asking.choice = ToolChoice::None;
    assert_eq!(said(&asking).0, "none");
}

#[test]
fn a_host_without_a_choice_among_some_is_shown_only_those() {
    let mut asking = Asking::new(Api::responses()).with_tools([bare("f"), bare("g"), bare("h")]);
    asking.only(&["f", "h"]);
    let names = |asking: &Asking| -> Vec<String> {
        let body = asking.body();
        let tools = body["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(names(&asking), ["f", "h"]);
    // No call at all, or one tool, can be said of all of them.
    asking.choice = ToolChoice::None;
    assert_eq!(names(&asking), ["f", "g", "h"]);
    asking.choice = ToolChoice::Tool("f".into());
    assert_eq!(names(&asking), ["f", "g", "h"]);
}

#[test]
fn a_choice_names_no_tool_that_is_still_to_be_found() {
    let deferred = |name| {
        tool_of(name, json!({ "type": "object" }), |definition| {
            definition.deferred()
        })
    };
    let mut asking = Asking::new(openai()).with_tools([bare("f"), deferred("g"), deferred("h")]);
    let defers = |asking: &Asking| -> Vec<Value> {
        let body = asking.body();
        body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["defer_loading"].clone())
            .collect()
    };
    let (yes, no) = (json!(true), Value::Null);
    assert_eq!(
        defers(&asking),
        [no.clone(), yes.clone(), yes.clone(), no.clone()]
    );
    asking.only(&["f", "h"]);
    assert_eq!(defers(&asking), [no.clone(), yes, no.clone(), no]);
    // That was for one request.
    asking.allowed = None;
    assert_eq!(defers(&asking)[2], json!(true));
}

#[test]
fn options_are_named_and_extra_members_win() {
    let mut asking = Asking::new(openai());
    asking.stream = true;
    asking.options = RequestOptions::new().temperature(0.5).max_tokens(9);
    let body = asking.body();
    assert_eq!(
        (&body["temperature"], &body["max_output_tokens"]),
        (&json!(0.5), &json!(9))
    );
    assert_eq!(body["stream"], true);
    asking.options = asking
        .options
        .extra("temperature", 1)
        .extra("store", true)
        .extra("include", json!([]));
    asking.options = asking
        .options
        .extra("instructions", "mine")
        .extra("seed", 7);
    asking.instructions = Some("ours");
    let text = asking.text();
    for once in [
        "\"temperature\"",
        "\"store\"",
        "\"include\"",
        "\"instructions\"",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{text}");
    }
    let body = asking.body();
    assert_eq!(
        (&body["store"], &body["instructions"], &body["seed"]),
        (&json!(true), &json!("mine"), &json!(7))
    );
    asking.options = RequestOptions::new()
        .extra("tools", json!([1]))
        .extra("input", "hi");
    let body = asking.with_tools([bare("f")]).body();
    assert_eq!(
        (&body["tools"], &body["input"]),
        (&json!([1]), &json!("hi"))
    );
}

/// OpenAI answers 400, "Encrypted content is not supported with this model".
#[test]
fn a_model_that_does_not_reason_is_not_asked_for_reasoning() {
    let mut asking = Asking::new(openai());
    for (model, is_asked) in [
        ("gpt-4o", false),
        ("gpt-4.1-mini", false),
        ("ft:gpt-4o-mini:acme", false),
        ("gpt-5-chat-latest", false),
        ("gpt-5-mini", true),
        ("o4-mini", true),
    ] {
        asking.model = model;
        assert_eq!(asking.body().get("include").is_some(), is_asked, "{model}");
    }
}

#[test]
fn what_a_user_attaches_is_sent_as_parts_and_what_cannot_be_sent_is_an_error() {
    let content =
        |attachment| attached(openai(), attachment).map(|body| body["input"][0]["content"].clone());
    let seen = json!({ "type": "input_text", "text": "see" });
    for (attachment, part) in [
        (
            png(),
            json!({ "type": "input_image", "image_url": "data:image/png;base64,cG5n" }),
        ),
        (
            Attachment::from_url("image/png", "https://x/y.png"),
            json!({ "type": "input_image", "image_url": "https://x/y.png" }),
        ),
        (
            pdf(),
            json!({ "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg==" }),
        ),
        (
            Attachment::from_url("application/pdf", "https://x/y.pdf"),
            json!({ "type": "input_file", "file_url": "https://x/y.pdf" }),
        ),
        (
            notes(),
            json!({ "type": "input_text", "text": "a.md:\n# č" }),
        ),
    ] {
        assert_eq!(content(attachment).unwrap(), json!([seen, part]));
    }
    assert_unsupported(content(Attachment::from_bytes("video/mp4", b"x")));
}

/// B98 too: a result is never empty.
#[test]
fn results_follow_in_the_order_of_the_calls_with_what_was_said_after_them() {
    let mut asking = Asking::new(openai());
    asking.answered_elsewhere(["a", "b", "c", "d"].map(|id| call(id, "{}")));
    asking.result("a", "ok", "one");
    asking.result("b", "error", "it broke");
    asking.result("c", "denied", "no");
    asking.result_with("d", "ok", "", vec![png()]);
    asking.said("and?");
    let output = |id: &str, output: Value| json!({ "type": "function_call_output", "call_id": id, "output": output });
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
    let expected = json!([
        { "role": "user", "content": "hi" },
        call("a"), call("b"), call("c"), call("d"),
        output("a", json!("one")),
        output("b", json!("it broke")),
        output("c", json!("no")),
        output("d", json!([{ "type": "input_image", "image_url": "data:image/png;base64,cG5n" }])),
        { "role": "user", "content": "and?" },
    ]);
    assert_eq!(input(&asking), expected);

    let mut asking = Asking::new(openai());
    asking.answered_elsewhere([support::asking::call("a", "{}")]);
    asking.result("a", "ok", "");
    assert_eq!(input(&asking)[2]["output"], "(no output)");

    // Where a result holds words alone, the rest follows all results.
    let mut dialect = Dialect::STANDARD;
    dialect.attachments_in_results = false;
    let mut asking = Asking::new(Api::Responses(dialect));
    asking.answered_elsewhere(["a", "b"].map(|id| support::asking::call(id, "{}")));
    asking.result_with("a", "ok", "one", vec![png()]);
    asking.result("b", "ok", "two");
    let sent = input(&asking);
    assert_eq!(
        (&sent[3]["output"], &sent[4]["output"]),
        (&json!("one"), &json!("two"))
    );
    assert_eq!(sent[5]["content"][0]["text"], "From the result of `f`:");
    assert_eq!(sent[5]["content"][1]["type"], "input_image");
}

#[test]
fn p2_an_answer_goes_back_word_for_word_to_its_host_and_rebuilt_to_others() {
    let output = json!([
        { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "xyz" },
        { "type": "tool_search_call", "id": "tsc_1", "call_id": null, "execution": "server", "arguments": { "paths": ["f"] } },
        { "type": "tool_search_output", "id": "tso_1", "call_id": null, "execution": "server", "tools": [] },
        { "type": "message", "id": "msg_1", "role": "assistant", "content": [{ "type": "output_text", "text": "So:", "annotations": [] }] },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "namespace": "f", "arguments": "{\"x\": 1.0}", "status": "completed" },
    ]);
    let mut asking = Asking::new(openai());
    asking.answered(json!({ "status": "completed", "output": output }));
    asking.result("call_1", "ok", "one");
    let sent = input(&asking);
    assert_eq!(json!(sent.as_array().unwrap()[1..6]), output);
    assert!(asking.text().contains("{\\\"x\\\": 1.0}"));

    // To another host of the same protocol only what everybody understands.
    asking.protocol = openai().protocol("there");
    let rebuilt = json!([
        { "role": "assistant", "content": "So:" },
        { "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{\"x\": 1.0}" },
    ]);
    assert_eq!(json!(input(&asking).as_array().unwrap()[1..3]), rebuilt);

    let mut asking = Asking::new(openai());
    asking.answered_elsewhere([
        Block::Thinking("hm".into()),
        Block::Text("So:".into()),
        call("c", "{}"),
    ]);
    asking.result("c", "ok", "one");
    let text = asking.text();
    assert!(!text.contains("secret") && !text.contains("hm"), "{text}");
}

#[test]
fn b52_a_foreign_id_is_mapped_and_our_own_is_not() {
    let long = "x".repeat(65);
    let mut asking = Asking::new(openai());
    asking.answered_elsewhere([call(&long, "{}")]);
    asking.result(&long, "ok", "one");
    let sent = input(&asking);
    let mapped = sent[1]["call_id"].as_str().unwrap();
    assert!(mapped.len() <= 64);
    assert_eq!(sent[2]["call_id"], mapped);
    assert_eq!(input(&asking), sent);

    let mut asking = Asking::new(openai());
    asking.answered(json!({ "output": [{ "type": "function_call", "call_id": long, "name": "f", "arguments": "{}" }] }));
    asking.result(&long, "ok", "one");
    let sent = input(&asking);
    assert_eq!(
        (&sent[1]["call_id"], &sent[2]["call_id"]),
        (&json!(long), &json!(long))
    );
}

#[test]
fn b104_arguments_that_are_no_object_go_back_as_one_that_carries_them() {
    for (sent, back) in broken_arguments() {
        let mut asking = Asking::new(openai());
        asking.answered_elsewhere([call("c", sent)]);
        asking.result("c", "error", "no");
        let arguments = input(&asking)[1]["arguments"].clone();
        let arguments: Value = serde_json::from_str(arguments.as_str().unwrap()).unwrap();
        assert_eq!(arguments, back, "{sent:?}");
    }
    // What was cut off is not sent back as it came.
    let mut asking = Asking::new(openai());
    asking.answered(json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" }, "output": [
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        { "type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{\"a\":" },
    ] }));
    asking.result("c", "error", "cut off");
    let expected = json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"invalid_json\":\"{\\\"a\\\":\"}" });
    assert_eq!(input(&asking)[1], expected);
}

#[test]
fn a_remote_server_is_declared_with_what_it_may_do() {
    let mut asking = Asking::new(openai()).with_tools([bare("f")]);
    asking.options = RequestOptions::new()
        .remote_mcp(
            RemoteMcp::new("zip", "https://zip.example/mcp")
                .description("Shortens.")
                .authorization("t0ken"),
        )
        .remote_mcp(
            RemoteMcp::new("wiki", "https://wiki.example/mcp")
                .without_approval_of(["ask"])
                .allowed_tools(["ask", "edit"])
                .header("x-key", "value")
                .deferred(),
        )
        .remote_mcp(RemoteMcp::new("free", "https://free.example/mcp").without_approval());
    let tools = asking.body()["tools"].clone();
    let expected = json!([
        { "type": "mcp", "server_label": "zip", "server_url": "https://zip.example/mcp", "require_approval": "always",
          "server_description": "Shortens.", "authorization": "t0ken" },
        { "type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example/mcp",
          "require_approval": { "never": { "tool_names": ["ask"] } }, "allowed_tools": ["ask", "edit"],
          "headers": { "x-key": "value" }, "defer_loading": true },
        { "type": "mcp", "server_label": "free", "server_url": "https://free.example/mcp", "require_approval": "never" },
        { "type": "tool_search" },
    ]);
    assert_eq!(json!(tools.as_array().unwrap()[1..]), expected);

    // A host that calls no servers itself says so, by name.
    asking.protocol = Api::responses().protocol("there");
    let error = asking.error();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(
        error.message().contains("`zip`") && !error.to_string().contains("t0ken"),
        "{error}"
    );
}

#[test]
fn decisions_on_remote_calls_are_answers_to_their_requests() {
    let request = |id: &str| json!({ "type": "mcp_approval_request", "id": id, "server_label": "zip", "name": "f", "arguments": "{}" });
    let output = json!([
        { "type": "mcp_list_tools", "id": "mcpl_1", "server_label": "zip", "tools": [] },
        request("mcpr_1"), request("mcpr_2"), request("mcpr_3"),
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}" },
    ]);
    let mut asking = Asking::new(openai());
    let answer = asking.answered(json!({ "status": "completed", "output": output }));
    let servers: Vec<Option<&str>> = answer
        .tool_calls()
        .map(|call| call.server.as_deref())
        .collect();
    assert_eq!(servers, [Some("zip"), Some("zip"), Some("zip"), None]);
    asking.result("mcpr_1", "approved", "{}");
    asking.result("mcpr_2", "denied", "{\"reason\":\"too dear\"}");
    asking.result("mcpr_3", "denied", "Denied.");
    asking.result("call_1", "ok", "one");
    let sent = input(&asking);
    assert_eq!(json!(sent.as_array().unwrap()[1..6]), output);
    let expected = json!([
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true },
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_2", "approve": false, "reason": "too dear" },
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_3", "approve": false, "reason": "Denied." },
        { "type": "function_call_output", "call_id": "call_1", "output": "one" },
    ]);
    assert_eq!(json!(sent.as_array().unwrap()[6..]), expected);

    // Another host knows nothing of it.
    asking.protocol = openai().protocol("there");
    let sent = input(&asking);
    assert_eq!(sent.as_array().unwrap().len(), 3);
    assert_eq!(
        (&sent[1]["type"], &sent[2]["call_id"]),
        (&json!("function_call"), &json!("call_1"))
    );
}

#[test]
fn hosted_tools_go_to_their_protocol_alone() {
    let mut asking = Asking::new(openai());
    asking.options = RequestOptions::new()
        .hosted_tool("responses", json!({ "type": "web_search" }))
        .hosted_tool("anthropic", json!({ "type": "web_search_20250305" }));
    asking.choice = ToolChoice::Required;
    let body = asking.body();
    assert_eq!(body["tools"], json!([{ "type": "web_search" }]));
    assert_eq!(body["tool_choice"], "required");
}

#[test]
fn p3_a_tool_that_cannot_be_strict_is_an_error_that_names_it_and_the_place() {
    for (property, place) in [
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            "/labels ",
        ),
        (json!({ "type": "array", "items": {} }), "/labels/items "),
        (
            json!({ "anyOf": [{ "type": "string" }, {}] }),
            "/labels/anyOf/1 ",
        ),
    ] {
        let schema = json!({ "type": "object", "properties": { "labels": property } });
        let asking = Asking::new(openai()).with_tools([tool_of("tag", schema, strict)]);
        let error = asking.error();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        let start = format!("the tool `tag` cannot be strict: {place}");
        assert!(error.message().starts_with(&start), "{error}");
    }
    // A schema that refers to itself is fine here.
    let node = json!({ "type": "object", "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] } }, "required": ["next"] });
    let schema = json!({ "type": "object", "properties": { "list": { "$ref": "#/$defs/Node" } }, "$defs": { "Node": node } });
    let asking = Asking::new(openai()).with_tools([tool_of("walk", schema, strict)]);
    assert_eq!(asking.body()["tools"][0]["strict"], true);
}

#[test]
fn p7_nothing_is_rendered_twice() {
    let mut asking = Asking::new(openai()).with_tools([bare("f")]);
    asking.instructions = Some("Be kind.");
    assert_rendered_once(asking, &[0]);
}

/// What cannot be rendered leaves nothing behind.
#[test]
fn a_request_that_failed_is_rendered_rightly_afterwards() {
    let mut asking = Asking::new(openai());
    asking.answered_elsewhere([Block::ToolCall(ToolCall::new("a", "f", "{}"))]);
    asking.result_with(
        "a",
        "ok",
        "one",
        vec![Attachment::from_bytes("video/mp4", b"x")],
    );
    assert_eq!(asking.error().kind(), ModelErrorKind::UnsupportedAttachment);
    asking.transcript.truncate(1);
    asking.transcript.push(Message::User("go on".into()));
    let expected =
        json!([{ "role": "user", "content": "hi" }, { "role": "user", "content": "go on" }]);
    assert_eq!(input(&asking), expected);
}
