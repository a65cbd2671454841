//! P6: whatever an MCP server gives as a result, the chat stays one that can go on. The server is this program itself.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Write, stdin, stdout};

use serde_json::{Map, Value, json};
use support::chat::{assert_paired, outcomes, results};
use support::mcp::ourselves;
use tool_core::testing::ScriptedModel;
use tool_core::{AttachmentSource, Chat, Outcome};
use tool_providers::mcp::Generation;

/// Each of its tools gives what the variable `RESULTS` has under its name, amid noise.
#[test]
#[ignore = "it is the server of the other tests"]
fn server() {
    let results = std::env::var("RESULTS").unwrap();
    let results: Map<String, Value> = serde_json::from_str(&results).unwrap();
    let say = |message: Value| {
        println!("{message}");
        stdout().flush().unwrap();
    };
    println!();
    for input in stdin().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&input.unwrap()) else {
            continue;
        };
        let params = &message["params"];
        let answer =
            |result: &Value| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        match message["method"].as_str() {
            Some("initialize") => say(answer(&json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "odd", "version": "1" }
            }))),
            Some("tools/list") => {
                let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
                let tools: Vec<Value> = results.keys().map(tool).collect();
                say(answer(&json!({ "tools": tools })));
            }
            Some("tools/call") => {
                println!("DEBUG: a call");
                say(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                say(json!({ "jsonrpc": "2.0", "id": 4711, "result": {} }));
                say(answer(&results[params["name"].as_str().unwrap()]));
                say(answer(
                    &json!({ "content": [{ "type": "text", "text": "once more" }] }),
                ));
            }
            _ => {}
        }
    }
    std::process::exit(0);
}

/// The outcome, the text and the attachments, as type and base64, of a tool that gives this.
async fn given(result: Value) -> (Outcome, String, Vec<(String, String)>) {
    let variable =
        json!({ "odd": result, "plain": { "content": [{ "type": "text", "text": "plain" }] } });
    let server = ourselves("server").with_variable("RESULTS", variable.to_string());
    let server = server.with_generation(Generation::Handshake);
    let model = ScriptedModel::new()
        .call("odd", json!({}))
        .call("plain", json!({}))
        .text("done");
    let mut chat = Chat::new(model).with_mcp(server.connect().await.unwrap());
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_paired(chat.messages());
    let all = results(&chat);
    assert_eq!(all[1].text, "plain", "the connection goes on");
    let attachments = all[0].attachments.iter();
    let attachments = attachments.map(|attachment| match &attachment.source {
        AttachmentSource::Base64(data) => (attachment.media_type.clone(), data.clone()),
        AttachmentSource::Url(url) => panic!("{url}"),
    });
    (
        outcomes(&chat)[0],
        all[0].text.clone(),
        attachments.collect(),
    )
}

fn content(block: Value) -> Value {
    json!({ "content": [block] })
}

#[tokio::test]
async fn words_structures_and_nothing_are_results() {
    let text = json!({ "type": "text", "text": "{\"a\": 1}" });
    for (result, expected) in [
        (json!({ "content": [] }), "null"),
        (json!({}), "null"),
        (
            json!({ "content": [], "structuredContent": { "a": 1 } }),
            "{\"a\":1}",
        ),
        (
            json!({ "content": [text], "structuredContent": { "a": 1 } }),
            "{\"a\": 1}",
        ),
        (
            content(json!({ "type": "resource_link", "uri": "file:///x", "name": "x" })),
            "[x](file:///x)",
        ),
        (
            content(
                json!({ "type": "resource", "resource": { "uri": "file:///x", "text": "hello" } }),
            ),
            "[file:///x]\nhello",
        ),
    ] {
        let (outcome, text, attachments) = given(result.clone()).await;
        assert_eq!(
            (outcome, text.as_str()),
            (Outcome::Ok, expected),
            "{result}"
        );
        assert!(attachments.is_empty(), "{result}");
    }
}

#[tokio::test]
async fn what_is_an_error_or_no_result_is_an_error() {
    for (result, expected) in [
        (
            json!({ "content": [], "isError": true }),
            "The tool failed.",
        ),
        (
            json!({ "content": [{ "type": "text", "text": "bad" }], "isError": true }),
            "bad",
        ),
        (json!({ "content": "hello" }), "no answer to this"),
        (content(json!({ "type": "hologram" })), "no answer to this"),
        (json!(null), "no answer to this"),
    ] {
        let (outcome, text, _) = given(result.clone()).await;
        assert_eq!(outcome, Outcome::Error, "{result}");
        assert!(text.contains(expected), "{result}: {text}");
    }
}

/// An attachment that no provider takes would make every later request of the chat fail.
#[tokio::test]
async fn attachments_are_brought_into_the_form_that_providers_take_or_left_out() {
    let image =
        |data: &str| content(json!({ "type": "image", "data": data, "mimeType": "image/png" }));
    for data in ["+/8=", "-_8=", "+/8", " +/\n8= "] {
        let (outcome, _, attachments) = given(image(data)).await;
        assert_eq!(outcome, Outcome::Ok, "{data:?}");
        assert_eq!(
            attachments,
            [("image/png".into(), "+/8=".into())],
            "{data:?}"
        );
    }
    let blob = |kind: &str, blob: &str| {
        let resource = json!({ "uri": "file:///a/x.bin", "mimeType": kind, "blob": blob });
        content(json!({ "type": "resource", "resource": resource }))
    };
    for (result, expected) in [
        (
            image("!!!"),
            "[an attachment of type image/png is left out: its data is not base64]",
        ),
        (
            blob("application/zip", "AAAA"),
            "[`x.bin` of type application/zip is left out: no model reads its 3 bytes]",
        ),
        (
            blob("text/plain", "/w=="),
            "[`x.bin` of type text/plain is left out: it is not UTF-8]",
        ),
    ] {
        let (outcome, text, attachments) = given(result).await;
        assert_eq!((outcome, text.as_str()), (Outcome::Ok, expected));
        assert!(attachments.is_empty());
    }
    let (_, _, attachments) = given(blob("text/csv; charset=utf-8", "YQ==")).await;
    assert_eq!(
        attachments,
        [("text/csv; charset=utf-8".into(), "YQ==".into())]
    );
}
