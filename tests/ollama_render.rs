//! P2, P3, P7, CASES C: what is sent to Ollama in its own protocol.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::asking::{
    Asking, as_it_is, assert_rendered_once, assert_unsupported, attached, bare, broken_arguments,
    call, members, notes, pdf, png, strict, tool, tool_of,
};
use tool_core::model::RemoteMcp;
use tool_core::{Attachment, Block, Calls, ModelErrorKind, RequestOptions, ToolCall, ToolChoice};
use tool_providers::Api;

fn asking() -> Asking {
    Asking::new(Api::Ollama)
}

fn messages(asking: &Asking) -> Value {
    asking.body()["messages"].clone()
}

#[test]
fn a_request_without_tools_says_nothing_of_tools() {
    let mut asking = asking();
    asking.instructions = Some("Be \"kind\".");
    let expected = json!({ "model": "m", "stream": false, "messages": [
        { "role": "system", "content": "Be \"kind\"." }, { "role": "user", "content": "hi" } ] });
    assert_eq!(asking.body(), expected);
}

#[test]
fn tools_are_declared_first_and_what_the_host_drops_is_said_in_words() {
    let place = json!({ "type": "object", "properties": { "x": { "type": "number", "minimum": 0 } }, "required": ["x"] });
    let schema = json!({ "type": "object", "properties": {
        "from": { "$ref": "#/$defs/Place" }, "to": { "$ref": "#/$defs/Place", "description": "Where to." },
        "kind": { "enum": ["a", "b"] },
    }, "required": ["from"], "$defs": { "Place": place } });
    let ours = members(json!({ "x": 1 }));
    let asking = asking().with_tools([
        tool("f", |definition| {
            definition
                .with_strict(true)
                .with_provider_options(Some("ollama"), ours)
        }),
        tool_of("g", schema, as_it_is),
        bare("now"),
    ]);
    assert!(
        asking
            .text()
            .starts_with("{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"")
    );
    let body = asking.body();
    let parameters = json!({ "type": "object", "properties": {
        "city": { "type": "string", "description": "minLength: 2" }, "days": { "type": "integer" } }, "required": ["city"] });
    let function = json!({ "name": "f", "description": "Tells.", "parameters": parameters });
    assert_eq!(
        body["tools"][0],
        json!({ "type": "function", "function": function, "x": 1 })
    );
    let inline = &body["tools"][1]["function"]["parameters"];
    assert!(!inline.to_string().contains("$"), "{inline}");
    assert_eq!(
        inline["properties"]["from"]["properties"]["x"],
        json!({ "type": "number", "description": "minimum: 0" })
    );
    let nothing = json!({ "type": "object", "properties": {}, "required": [] });
    assert_eq!(body["tools"][2]["function"]["parameters"], nothing);
}

#[test]
fn the_host_knows_no_choice_and_is_shown_what_may_be_called() {
    let mut asking = asking().with_tools([bare("f"), bare("g"), bare("h")]);
    let names = |asking: &Asking| -> Vec<String> {
        let body = asking.body();
        assert!(body.get("tool_choice").is_none() && body.get("parallel_tool_calls").is_none());
        let tools = body["tools"].as_array().into_iter().flatten();
        tools
            .map(|tool| tool["function"]["name"].as_str().unwrap().into())
            .collect()
    };
    asking.calls = Calls::One;
    assert_eq!(names(&asking), ["f", "g", "h"]);
    asking.choice = ToolChoice::Required;
    assert_eq!(names(&asking), ["f", "g", "h"]);
    asking.choice = ToolChoice::Tool("g".into());
    assert_eq!(names(&asking), ["g"]);
    asking.choice = ToolChoice::None;
    assert!(names(&asking).is_empty());
    asking.only(&["f", "h"]);
    asking.choice = ToolChoice::Auto;
    assert_eq!(names(&asking), ["f", "h"]);
}

#[test]
fn options_are_named_and_extra_members_win() {
    let mut asking = asking();
    asking.stream = true;
    asking.options = RequestOptions::new()
        .temperature(0.5)
        .max_tokens(9)
        .extra("options", json!({ "num_predict": 5, "num_ctx": 4096 }))
        .extra("think", "low");
    let body = asking.body();
    assert_eq!(
        body["options"],
        json!({ "temperature": 0.5, "num_predict": 5, "num_ctx": 4096 })
    );
    assert_eq!(
        (&body["think"], &body["stream"]),
        (&json!("low"), &json!(true))
    );
    asking.options = RequestOptions::new()
        .extra("stream", false)
        .extra("messages", json!([]));
    assert_eq!(
        asking.body(),
        json!({ "model": "m", "stream": false, "messages": [] })
    );
}

#[test]
fn what_a_user_attaches_is_an_image_or_words_and_all_else_is_an_error() {
    let message =
        |attachment| attached(Api::Ollama, attachment).map(|body| body["messages"][0].clone());
    assert_eq!(
        message(png()).unwrap(),
        json!({ "role": "user", "content": "see", "images": ["cG5n"] })
    );
    assert_eq!(
        message(notes()).unwrap(),
        json!({ "role": "user", "content": "see\n\na.md:\n# č" })
    );
    for refused in [
        pdf(),
        Attachment::from_bytes("video/mp4", b"x"),
        Attachment::from_url("image/png", "https://x/y.png"),
    ] {
        assert_unsupported(message(refused));
    }
}

/// B98 too: a result is never empty.
#[test]
fn results_follow_in_the_order_of_the_calls_and_their_images_after_them() {
    let mut asking = asking();
    let remote = ToolCall::new("mcpr_1", "ask", "{}").on_server("wiki");
    asking.answered_elsewhere([
        call("a", "{}"),
        call("b", "{\"x\":1}"),
        call("c", "{}"),
        Block::ToolCall(remote),
    ]);
    asking.result_with("a", "ok", "one", vec![png()]);
    asking.result("b", "error", "it broke");
    asking.result("c", "denied", "");
    asking.result("mcpr_1", "approved", "{}");
    asking.said("and?");
    let call = |id: &str, arguments: Value| json!({ "id": id, "function": { "name": "f", "arguments": arguments } });
    let result = |id: &str, text: &str| json!({ "role": "tool", "tool_name": "f", "tool_call_id": id, "content": text });
    let expected = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "", "tool_calls": [call("a", json!({})), call("b", json!({ "x": 1 })), call("c", json!({}))] },
        result("a", "one"), result("b", "it broke"), result("c", "(no output)"),
        { "role": "user", "content": "From the result of `f`:", "images": ["cG5n"] },
        { "role": "user", "content": "and?" },
    ]);
    assert_eq!(messages(&asking), expected);
}

#[test]
fn p2_reasoning_goes_back_to_ollama_alone() {
    let mut asking = asking();
    let said = json!({ "role": "assistant", "content": "So:", "thinking": "hm \"so\"",
        "tool_calls": [{ "id": "call_1", "function": { "index": 0, "name": "f", "arguments": { "x": 1.0 } } }] });
    asking.answered(json!({ "message": said, "done": true }));
    asking.result("call_1", "ok", "one");
    let sent = messages(&asking);
    let expected = json!({ "role": "assistant", "content": "So:", "thinking": "hm \"so\"",
        "tool_calls": [{ "id": "call_1", "function": { "name": "f", "arguments": { "x": 1.0 } } }] });
    assert_eq!(sent[1], expected);
    assert_eq!(sent[2]["tool_call_id"], "call_1");

    let mut asking = self::asking();
    asking.answered_elsewhere([Block::Thinking("hm".into()), Block::Text("So:".into())]);
    assert_eq!(
        messages(&asking)[1],
        json!({ "role": "assistant", "content": "So:" })
    );
}

#[test]
fn b104_arguments_that_are_no_object_go_back_as_one_that_carries_them() {
    for (sent, back) in broken_arguments() {
        let mut asking = asking();
        asking.answered_elsewhere([call("c", sent)]);
        asking.result("c", "error", "no");
        assert_eq!(
            messages(&asking)[1]["tool_calls"][0]["function"]["arguments"],
            back,
            "{sent:?}"
        );
    }
}

#[test]
fn a_remote_server_is_refused_and_a_strict_tool_is_a_tool() {
    let mut asking = asking().with_tools([tool("f", strict)]);
    assert_eq!(asking.body()["tools"][0]["function"].get("strict"), None);
    asking.options = RequestOptions::new()
        .remote_mcp(RemoteMcp::new("wiki", "https://wiki.example/mcp").without_approval());
    let error = asking.error();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(error.message().contains("`wiki`"), "{error}");
}

#[test]
fn p7_nothing_is_rendered_twice() {
    assert_rendered_once(asking().with_tools([bare("f")]), &[0]);
}
