//! P2, P3, P7, CASES C: what is sent to Gemini.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use support::asking::{
    Asking, as_it_is, assert_rendered_once, assert_unsupported, attached, bare, broken_arguments,
    call, members, notes, pdf, png, strict, tool, tool_of,
};
use tool_core::model::RemoteMcp;
use tool_core::{Attachment, Block, Calls, ModelErrorKind, RequestOptions, ToolChoice};
use tool_providers::Api;

fn asking() -> Asking {
    Asking::new(Api::Gemini)
}

fn contents(asking: &Asking) -> Value {
    asking.body()["contents"].clone()
}

fn answer(parts: &Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] })
}

#[test]
fn a_request_without_tools_says_nothing_of_tools() {
    let mut asking = asking();
    asking.instructions = Some("Be \"kind\".");
    asking.choice = ToolChoice::Required;
    asking.calls = Calls::One;
    asking.stream = true;
    let expected = json!({ "systemInstruction": { "parts": [{ "text": "Be \"kind\"." }] },
        "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    assert_eq!(asking.body(), expected);
    // The model and the stream are in the path.
    assert_eq!(
        asking.protocol.path("m", false),
        "/models/m:generateContent"
    );
    assert_eq!(
        asking.protocol.path("models/m", true),
        "/models/m:streamGenerateContent?alt=sse"
    );
}

/// B46, B47 are in `gemini_schema.rs`.
#[test]
fn tools_are_declared_first_by_their_json_schema() {
    let asking = asking().with_tools([tool("f", as_it_is), bare("now")]);
    assert!(
        asking
            .text()
            .starts_with("{\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\"")
    );
    let parameters = json!({ "type": "object", "properties": {
        "city": { "type": "string", "minLength": 2 }, "days": { "type": "integer" } }, "required": ["city"] });
    let nothing = json!({ "type": "object", "properties": {}, "required": [] });
    let expected = json!([{ "functionDeclarations": [
        { "name": "f", "description": "Tells.", "parametersJsonSchema": parameters },
        { "name": "now", "description": "Tells.", "parametersJsonSchema": nothing },
    ] }]);
    let body = asking.body();
    assert_eq!(body["tools"], expected);
    assert_eq!(body.get("toolConfig"), None);
}

#[test]
fn a_tools_own_members_go_to_their_protocol_alone() {
    let ours = members(json!({ "behavior": "NON_BLOCKING" }));
    let others = members(json!({ "cache_control": {} }));
    let asking = asking().with_tools([tool("f", |definition| {
        definition
            .with_provider_options(Some("gemini"), ours)
            .with_provider_options(Some("anthropic"), others)
    })]);
    let declared = &asking.body()["tools"][0]["functionDeclarations"][0];
    assert_eq!(
        (&declared["behavior"], declared.get("cache_control")),
        (&json!("NON_BLOCKING"), None)
    );
}

#[test]
fn a_choice_is_a_mode_and_names() {
    let mut asking = asking().with_tools([bare("f"), bare("g"), bare("h")]);
    let said = |asking: &Asking| {
        let body = asking.body();
        let declared = body["tools"][0]["functionDeclarations"]
            .as_array()
            .unwrap()
            .len();
        (
            body["toolConfig"]["functionCallingConfig"].clone(),
            declared,
        )
    };
    assert_eq!(said(&asking), (Value::Null, 3));
    asking.choice = ToolChoice::Required;
    assert_eq!(said(&asking), (json!({ "mode": "ANY" }), 3));
    asking.choice = ToolChoice::None;
    assert_eq!(said(&asking), (json!({ "mode": "NONE" }), 3));
    asking.choice = ToolChoice::Tool("g".into());
    assert_eq!(
        said(&asking),
        (json!({ "mode": "ANY", "allowedFunctionNames": ["g"] }), 3)
    );
    asking.only(&["f", "h"]);
    asking.choice = ToolChoice::Required;
    assert_eq!(
        said(&asking),
        (
            json!({ "mode": "ANY", "allowedFunctionNames": ["f", "h"] }),
            3
        )
    );
    // Where the model decides, names are not allowed.
    asking.choice = ToolChoice::Auto;
    assert_eq!(said(&asking), (Value::Null, 2));
    // It knows no control over the number of calls.
    asking.calls = Calls::One;
    assert!(!asking.text().to_lowercase().contains("parallel"));
}

#[test]
fn b50_one_strict_tool_has_all_of_them_validated() {
    let mut asking = asking().with_tools([bare("f"), tool("g", strict)]);
    assert_eq!(
        asking.body()["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "VALIDATED" })
    );
    asking.choice = ToolChoice::Required;
    assert_eq!(
        asking.body()["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "ANY" })
    );
}

#[test]
fn options_are_named_and_extra_members_win() {
    let mut asking = asking();
    asking.options = RequestOptions::new()
        .temperature(0.5)
        .max_tokens(9)
        .extra(
            "generationConfig",
            json!({ "maxOutputTokens": 5, "thinkingConfig": { "includeThoughts": true } }),
        )
        .extra("safetySettings", json!([]));
    let body = asking.body();
    let config = json!({ "temperature": 0.5, "maxOutputTokens": 5, "thinkingConfig": { "includeThoughts": true } });
    assert_eq!(
        (&body["generationConfig"], &body["safetySettings"]),
        (&config, &json!([]))
    );
    asking.options = RequestOptions::new()
        .extra("contents", json!([]))
        .extra("tools", json!([]))
        .extra("toolConfig", json!({}));
    asking.choice = ToolChoice::Required;
    let text = asking.with_tools([bare("f")]).text();
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        body,
        json!({ "contents": [], "tools": [], "toolConfig": {} }),
        "{text}"
    );
}

#[test]
fn what_a_user_attaches_is_sent_as_parts_and_what_cannot_be_sent_is_an_error() {
    let part = |attachment| {
        attached(Api::Gemini, attachment).map(|body| body["contents"][0]["parts"][1].clone())
    };
    let inline =
        |kind: &str, data: &str| json!({ "inlineData": { "mimeType": kind, "data": data } });
    let file =
        |kind: &str, address: &str| json!({ "fileData": { "mimeType": kind, "fileUri": address } });
    for (attachment, expected) in [
        (png(), inline("image/png", "cG5n")),
        (pdf(), inline("application/pdf", "JVBERg==")),
        (notes(), json!({ "text": "a.md:\n# č" })),
        (
            Attachment::from_bytes("video/mp4", b"x"),
            inline("video/mp4", "eA=="),
        ),
        (
            Attachment::from_url("image/png", "https://x/y.png"),
            file("image/png", "https://x/y.png"),
        ),
        (
            Attachment::from_url("text/plain", "https://x/y.txt"),
            file("text/plain", "https://x/y.txt"),
        ),
    ] {
        assert_eq!(part(attachment).unwrap(), expected);
    }
    assert_unsupported(part(Attachment::from_bytes("application/zip", b"x")));
}

/// B98 too: a result is never empty.
#[test]
fn all_results_of_an_answer_are_in_one_content_in_the_order_of_the_calls() {
    let mut asking = asking();
    asking.answered_elsewhere(["a", "b", "c", "d"].map(|id| call(id, "{}")));
    asking.result("a", "ok", "one");
    asking.result("b", "error", "it broke");
    asking.result_with("c", "ok", "", vec![png()]);
    asking.result("d", "denied", "no");
    asking.said("and?");
    let result = |key: &str, text: &str| {
        let mut response = json!({});
        response[key] = text.into();
        json!({ "functionResponse": { "name": "f", "response": response } })
    };
    let sent = contents(&asking);
    let expected = json!({ "role": "user", "parts": [
        result("output", "one"), result("error", "it broke"), result("output", "(no output)"), result("error", "no"),
        { "text": "From the result of `f`:" }, { "inlineData": { "mimeType": "image/png", "data": "cG5n" } },
    ] });
    assert_eq!(sent[2], expected);
    assert_eq!(
        sent[3],
        json!({ "role": "user", "parts": [{ "text": "and?" }] })
    );
}

#[test]
fn p2_an_answer_goes_back_part_by_part_with_its_signatures_and_ids() {
    let parts = json!([
        { "text": "Aha. ", "thought": true },
        { "text": "So", "thoughtSignature": "s1" },
        { "text": ": " },
        { "functionCall": { "name": "f", "args": { "x": 1.0 }, "id": "call_9" }, "thoughtSignature": "s2" },
        { "functionCall": { "name": "f", "args": {} } },
        { "executableCode": { "language": "PYTHON", "code": "1" } },
    ]);
    let mut asking = asking();
    let answered = asking.answered(answer(&parts));
    let ids: Vec<String> = answered.tool_calls().map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["call_9", "call_1"]);
    asking.result("call_9", "ok", "one");
    asking.result("call_1", "ok", "two");
    let sent = contents(&asking);
    assert_eq!(sent[1]["role"], "model");
    assert_eq!(sent[1]["parts"], json!(parts.as_array().unwrap()[1..]));
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["id"], "call_9");
    // An id that the host did not give it is not sent.
    assert_eq!(sent[2]["parts"][1]["functionResponse"].get("id"), None);

    // Another host gets no ids, no signatures but the one that the documentation gives, on the first call.
    asking.protocol = Api::Gemini.protocol("there");
    let sent = contents(&asking);
    let rebuilt = json!([
        { "text": "So: " },
        { "functionCall": { "name": "f", "args": { "x": 1.0 } }, "thoughtSignature": "skip_thought_signature_validator" },
        { "functionCall": { "name": "f", "args": {} } },
    ]);
    assert_eq!(sent[1]["parts"], rebuilt);
    assert_eq!(sent[2]["parts"][0]["functionResponse"].get("id"), None);

    let mut asking = self::asking();
    asking.answered_elsewhere([Block::Thinking("hm".into())]);
    assert_eq!(
        contents(&asking)[1]["parts"],
        json!([{ "text": "(no words)" }])
    );
}

#[test]
fn b104_arguments_that_are_no_object_go_back_as_one_that_carries_them() {
    for (sent, back) in broken_arguments() {
        let mut asking = asking();
        asking.answered_elsewhere([call("c", sent)]);
        asking.result("c", "error", "no");
        assert_eq!(
            contents(&asking)[1]["parts"][0]["functionCall"]["args"],
            back,
            "{sent:?}"
        );
    }
}

#[test]
fn hosted_tools_and_remote_servers_are_entries_of_their_own() {
    let server = || {
        RemoteMcp::new("wiki", "https://wiki.example/mcp")
            .authorization("t0ken")
            .header("x-key", "v")
    };
    let with = |server: RemoteMcp| {
        let mut asking = asking().with_tools([bare("f")]);
        asking.options = RequestOptions::new()
            .remote_mcp(server)
            .hosted_tool("gemini", json!({ "googleSearch": {} }))
            .hosted_tool("responses", json!({ "type": "web_search" }));
        asking
    };
    for refused in [server(), server().without_approval().allowed_tools(["ask"])] {
        let error = with(refused).error();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        assert!(
            error.message().contains("`wiki`") && !error.to_string().contains("t0ken"),
            "{error}"
        );
    }
    let tools = with(server().without_approval()).body()["tools"].clone();
    let transport = json!({ "url": "https://wiki.example/mcp", "headers": { "x-key": "v", "Authorization": "Bearer t0ken" } });
    let expected = json!([
        { "mcpServers": [{ "name": "wiki", "streamableHttpTransport": transport }] },
        { "googleSearch": {} },
    ]);
    assert_eq!(json!(tools.as_array().unwrap()[1..]), expected);
    // Without functions there is nothing to choose among.
    let mut asking = with(server().without_approval());
    asking.choice = ToolChoice::Required;
    assert_eq!(asking.with_tools([]).body().get("toolConfig"), None);
}

#[test]
fn a_schema_that_cannot_be_held_is_no_error_where_it_is_only_described() {
    let schema = json!({ "type": "object", "properties": { "any": {} } });
    let asking = asking().with_tools([tool_of("f", schema, strict)]);
    assert_eq!(
        asking.body()["tools"][0]["functionDeclarations"][0]["name"],
        "f"
    );
}

#[test]
fn p7_nothing_is_rendered_twice() {
    let mut asking = asking().with_tools([bare("f")]);
    asking.instructions = Some("Be kind.");
    assert_rendered_once(asking, &[0]);
}
