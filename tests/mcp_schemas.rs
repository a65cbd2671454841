//! P6: whatever names and schemas an MCP server gives its tools, a model can call them, and the right one runs.
//! The server is this program itself.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Write, stdin, stdout};

use serde_json::{Value, json};
use support::mcp::ourselves;
use tool_core::{Tool, ToolErrorKind, ToolSet};

/// Its tools are those of the variable `TOOLS`; each gives its name and its arguments.
#[test]
#[ignore = "it is the server of the other tests"]
fn server() {
    let tools: Value = serde_json::from_str(&std::env::var("TOOLS").unwrap()).unwrap();
    println!();
    for input in stdin().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&input.unwrap()) else {
            continue;
        };
        let params = &message["params"];
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "odd", "version": "1" }
            }),
            Some("tools/list") => json!({ "tools": tools }),
            Some("tools/call") => {
                let text = format!("{} {}", params["name"], params["arguments"]);
                json!({ "content": [{ "type": "text", "text": text }] })
            }
            _ => continue,
        };
        println!(
            "{}",
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
        );
        stdout().flush().unwrap();
    }
    std::process::exit(0);
}

async fn listed(tools: Value) -> ToolSet {
    let server = ourselves("server").with_variable("TOOLS", tools.to_string());
    let server = server.with_generation(tool_providers::mcp::Generation::Handshake);
    server.connect().await.unwrap().tool_set()
}

/// The tool of this schema.
async fn with_schema(schema: Value) -> ToolSet {
    listed(json!([{ "name": "odd", "inputSchema": schema }])).await
}

async fn call(tools: &ToolSet, name: &str, arguments: Value) -> Result<String, ToolErrorKind> {
    let called = tools.get(name).unwrap().call(arguments).await;
    called
        .map(|output| output.as_text().to_owned())
        .map_err(|error| error.kind())
}

#[tokio::test]
async fn names_are_made_legal_and_unique_and_each_calls_its_own_tool() {
    let schema = json!({ "type": "object" });
    let long = "x".repeat(70);
    let names = [
        "files.read",
        "files/read",
        "files_read",
        "9 lives",
        "größe",
        &long,
        "",
    ];
    let tools = names.map(|name| json!({ "name": name, "inputSchema": schema }));
    let tools = listed(json!(tools)).await;
    let legal: Vec<&str> = tools.names().collect();
    let cut = "x".repeat(64);
    assert_eq!(
        legal,
        [
            "files_read",
            "files_read_2",
            "files_read_3",
            "_9_lives",
            "gr__e",
            &cut,
            "_"
        ]
    );
    for (legal, name) in legal.iter().zip(names) {
        let text = call(&tools, legal, json!({})).await.unwrap();
        assert_eq!(text, format!("{} {{}}", json!(name)));
    }
}

#[tokio::test]
async fn references_by_place_are_resolved() {
    let tools = with_schema(json!({
        "type": "object",
        "properties": {
            "from": { "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] },
            "to": { "$ref": "#/properties/from" },
            "via": { "type": "array", "items": { "$ref": "#/properties/from" } }
        },
        "required": ["from", "to"]
    }))
    .await;
    let right = json!({ "from": { "x": 1 }, "to": { "x": 2 }, "via": [{ "x": 3 }] });
    assert!(call(&tools, "odd", right).await.is_ok());
    let wrong = json!({ "from": { "x": 1 }, "to": { "x": "two" } });
    assert_eq!(
        call(&tools, "odd", wrong).await,
        Err(ToolErrorKind::InvalidArguments)
    );
}

#[tokio::test]
async fn references_that_lead_nowhere_let_anything_in() {
    for reference in [
        "https://example.com/schema.json",
        "#/nowhere",
        "#/$defs/absent",
        "#anchor",
    ] {
        let tools = with_schema(json!({
            "type": "object",
            "properties": { "any": { "$ref": reference }, "number": { "type": "number" } }
        }))
        .await;
        let anything = json!({ "any": { "deep": [1, "two"] }, "number": 1.5 });
        assert!(call(&tools, "odd", anything).await.is_ok(), "{reference}");
        let wrong = json!({ "number": "one" });
        let wrong = call(&tools, "odd", wrong).await;
        assert_eq!(wrong, Err(ToolErrorKind::InvalidArguments), "{reference}");
    }
}

#[tokio::test]
async fn an_object_that_names_no_properties_may_have_any() {
    let tools = with_schema(json!({
        "type": "object",
        "properties": { "settings": { "type": "object" }, "list": { "type": "array" } }
    }))
    .await;
    let arguments = json!({ "settings": { "a": { "b": 1 } }, "list": [1, "two", { "three": 3 }] });
    let text = call(&tools, "odd", arguments.clone()).await.unwrap();
    assert_eq!(text, format!("\"odd\" {arguments}"));
}

#[tokio::test]
async fn what_is_no_schema_still_works() {
    let odd = [
        json!({}),
        json!({ "type": "any" }),
        json!({ "type": ["object", "null"], "properties": { "a": { "type": "decimal" } } }),
        json!({ "type": "object", "properties": { "a": { "type": "array", "items": [{ "type": "string" }] } } }),
        json!({ "type": "object", "properties": [], "additionalProperties": true }),
        json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }], "properties": { "a": {}, "b": {} } }),
        json!({ "$ref": "#/$defs/whole", "$defs": { "whole": { "type": "object", "properties": { "a": {} } } } }),
    ];
    for schema in odd {
        let tools = with_schema(schema.clone()).await;
        let has_a = schema.to_string().contains("\"a\"");
        let arguments = match has_a {
            true => json!({ "a": ["text"] }),
            false => json!({}),
        };
        let text = call(&tools, "odd", arguments).await;
        assert!(text.is_ok(), "{schema}: {text:?}");
    }
}
