//! P6: tools of MCP servers that no one here wrote are ordinary tools. `scripts/test` installs the servers.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::chat::{assert_paired, outcomes, results};
use support::mcp::{folder, node, python, watched};
use tool_core::files::MemoryStore;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Outcome, Spill, Tool, ToolSource, Turn};
use tool_providers::mcp::{Generation, McpErrorKind, McpServer};

fn everything() -> Option<McpServer> {
    node("server-everything", &["stdio"])
}

fn filesystem(folder: &std::path::Path) -> Option<McpServer> {
    node("server-filesystem", &[folder.to_str().unwrap()])
}

#[tokio::test]
async fn a_servers_tools_are_listed_and_called() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    let model = ScriptedModel::new()
        .calls([
            ("echo", json!({ "message": "hello" })),
            ("get-sum", json!({ "a": 2, "b": 3 })),
            ("get-tiny-image", json!({})),
            ("get-structured-content", json!({ "location": "New York" })),
            ("get-resource-links", json!({ "count": 2 })),
            (
                "get-resource-reference",
                json!({ "resourceType": "Text", "resourceId": 1 }),
            ),
            (
                "get-annotated-message",
                json!({ "messageType": "error", "includeImage": true }),
            ),
        ])
        .text("done");
    let mut chat = Chat::new(model).with_mcp(server);
    chat.ask("go").await.unwrap();
    let results = results(&chat);
    assert_eq!(outcomes(&chat), [Outcome::Ok; 7], "{results:?}");
    assert_eq!(results[0].text, "Echo: hello");
    assert!(results[1].text.contains("is 5"), "{}", results[1].text);
    assert!(results[2].attachments[0].is_image());
    let structured: Value = serde_json::from_str(&results[3].text).unwrap();
    assert!(structured["temperature"].is_number(), "{structured}");
    assert_eq!(
        results[4].text.matches("](demo://").count(),
        2,
        "{}",
        results[4].text
    );
    assert!(results[5].text.contains("[demo://"), "{}", results[5].text);
    assert!(results[6].text.contains("Error") && results[6].attachments[0].is_image());
    assert_paired(chat.messages());
}

#[tokio::test]
async fn wrong_arguments_never_reach_the_server() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    let model = ScriptedModel::new()
        .call("get-sum", json!({ "a": "two", "c": 1 }))
        .text("done");
    let mut chat = Chat::new(model).with_mcp(server);
    chat.ask("go").await.unwrap();
    let text = &results(&chat)[0].text;
    assert!(text.starts_with("Invalid tool arguments: "), "{text}");
    assert!(text.contains("`b`") && text.contains("`c`"), "{text}");
}

#[tokio::test]
async fn every_schema_of_the_servers_is_in_normal_form() {
    let folder = folder("schemas");
    let (Some(everything), Some(filesystem)) = (everything(), filesystem(&folder)) else {
        return;
    };
    for server in [everything, filesystem] {
        let server = server.connect().await.unwrap();
        let tools = server.tool_set();
        assert!(tools.len() >= 10, "{tools:?}");
        for tool in tools.iter() {
            let schema = tool.definition().schema().as_value();
            assert_eq!(schema["type"], "object", "{}", tool.name());
            assert!(schema.get("$schema").is_none());
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            assert_eq!(tool_core::normalize(schema.clone()).unwrap(), *schema);
            assert!(!tool.definition().description().is_empty());
        }
    }
}

#[tokio::test]
async fn what_the_server_calls_an_error_is_one() {
    let folder = folder("errors");
    let Some(server) = filesystem(&folder) else {
        return;
    };
    let server = server.connect().await.unwrap();
    let outside = json!({ "path": "/etc/hostname" });
    let model = ScriptedModel::new()
        .call("read_text_file", outside)
        .text("done");
    let mut chat = Chat::new(model).with_mcp(server);
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Error]);
    let text = &results(&chat)[0].text;
    assert!(text.contains("Access denied"), "{text}");
}

#[tokio::test]
async fn what_may_destroy_waits_for_approval_and_what_only_reads_does_not() {
    let folder = folder("approval");
    std::fs::write(folder.join("there.txt"), "old").unwrap();
    let Some(server) = filesystem(&folder) else {
        return;
    };
    let server = server
        .requires_approval_if(|tool| !tool.read_only)
        .connect()
        .await
        .unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let model = ScriptedModel::new()
        .calls([
            ("read_text_file", json!({ "path": path("there.txt") })),
            (
                "write_file",
                json!({ "path": path("there.txt"), "content": "new" }),
            ),
            (
                "write_file",
                json!({ "path": path("denied.txt"), "content": "new" }),
            ),
        ])
        .text("done");
    let mut chat = Chat::new(model).with_mcp(server);
    let turn = chat.ask("go").await.unwrap();
    let pending = turn.pending_approvals().to_vec();
    assert_eq!(pending.len(), 2, "{turn}");
    assert_eq!(
        std::fs::read_to_string(folder.join("there.txt")).unwrap(),
        "old"
    );
    chat.approve(&pending[0]).unwrap();
    chat.deny(&pending[1]).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Ok, Outcome::Denied]);
    assert!(results(&chat)[0].text.contains("old"));
    assert_eq!(
        std::fs::read_to_string(folder.join("there.txt")).unwrap(),
        "new"
    );
    assert!(!folder.join("denied.txt").exists());
}

#[tokio::test]
async fn options_are_set_by_server_and_by_tool() {
    let folder = folder("options");
    let Some(server) = filesystem(&folder) else {
        return;
    };
    let server = server
        .only(["read_text_file", "write_file", "list_directory"])
        .requires_approval_of(["write_file"])
        .with_max_run_time(Duration::from_secs(9))
        .with_spill_to_file(1_000)
        .define_tool("list_directory", |tool| {
            tool.with_spill_to_file(Spill::Never)
        })
        .connect()
        .await
        .unwrap();
    let tools = server.tool_set();
    let names: Vec<&str> = tools.names().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let tool = |name: &str| tools.get(name).unwrap().definition().clone();
    assert!(tool("write_file").requires_approval());
    assert!(!tool("read_text_file").requires_approval());
    assert_eq!(
        tool("write_file").max_run_time(),
        Some(Duration::from_secs(9))
    );
    assert_eq!(
        tool("write_file").spill_to_file(),
        Some(Spill::Characters(1_000))
    );
    assert_eq!(tool("list_directory").spill_to_file(), Some(Spill::Never));
}

#[tokio::test]
async fn a_tool_that_is_named_and_not_there_is_an_error_that_lists_those_that_are() {
    let folder = folder("misspelled");
    let Some(server) = filesystem(&folder) else {
        return;
    };
    let server = server.named("files").requires_approval_of(["wirte_file"]);
    let error = server.connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Configuration);
    let text = error.to_string();
    assert!(
        text.starts_with("the MCP server `files` has no tool `wirte_file`; it has: ")
            && text.contains("write_file"),
        "{text}"
    );
}

#[tokio::test]
async fn two_servers_with_the_same_tools_are_told_apart() {
    let (home, work) = (folder("home"), folder("work"));
    std::fs::write(home.join("a.txt"), "at home").unwrap();
    std::fs::write(work.join("a.txt"), "at work").unwrap();
    let (Some(first), Some(second)) = (filesystem(&home), filesystem(&work)) else {
        return;
    };
    let first = first.named("home").prefixed().connect().await.unwrap();
    let second = second.named("work").connect().await.unwrap();
    let third = filesystem(&work)
        .unwrap()
        .named("again")
        .connect()
        .await
        .unwrap();
    let path = |folder: &std::path::Path| json!({ "path": folder.join("a.txt") });
    let model = ScriptedModel::new()
        .calls([
            ("home_read_text_file", path(&home)),
            ("read_text_file", path(&work)),
            ("again_read_text_file", path(&work)),
        ])
        .text("done");
    let mut chat = Chat::new(model)
        .with_mcp(first)
        .with_mcp(second)
        .with_mcp(third);
    chat.ask("go").await.unwrap();
    let texts: Vec<String> = results(&chat)
        .into_iter()
        .map(|result| result.text)
        .collect();
    assert_eq!(outcomes(&chat), [Outcome::Ok; 3], "{texts:?}");
    assert!(
        texts[0].contains("at home") && texts[1].contains("at work"),
        "{texts:?}"
    );
}

#[tokio::test]
async fn deferred_tools_are_searched_for_and_called() {
    let Some(server) = everything() else { return };
    let server = server.deferred().connect().await.unwrap();
    assert!(
        server
            .tool_set()
            .iter()
            .all(|tool| tool.definition().is_deferred())
    );
    let model = ScriptedModel::new()
        .call("search_tools", json!({ "query": "sum of two numbers" }))
        .call(
            "call_tool",
            json!({ "name": "get-sum", "arguments": { "a": 2, "b": 3 } }),
        )
        .text("done");
    let mut chat = Chat::new(model.clone()).with_mcp(server);
    chat.ask("go").await.unwrap();
    let results = results(&chat);
    assert!(results[0].text.contains("get-sum"), "{}", results[0].text);
    assert!(results[1].text.contains("is 5"), "{}", results[1].text);
    assert_eq!(model.requests()[0].tools, ["search_tools", "call_tool"]);
}

#[tokio::test]
async fn a_long_result_is_kept_in_a_file() {
    let folder = folder("spill");
    std::fs::write(folder.join("long.txt"), "line\n".repeat(2_000)).unwrap();
    let Some(server) = filesystem(&folder) else {
        return;
    };
    let server = server.with_spill_to_file(500).connect().await.unwrap();
    let path = json!({ "path": folder.join("long.txt") });
    let model = ScriptedModel::new()
        .call("read_text_file", path)
        .text("done");
    let mut chat = Chat::new(model)
        .with_mcp(server)
        .with_file_store(MemoryStore::new());
    chat.ask("go").await.unwrap();
    let text = &results(&chat)[0].text;
    assert!(
        text.contains("All of it is in the file `results/"),
        "{text}"
    );
}

#[tokio::test]
async fn progress_arrives_whole_and_in_order() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    let arguments = json!({ "duration": 0.2, "steps": 20 });
    let model = ScriptedModel::new()
        .call("trigger-long-running-operation", arguments)
        .text("done");
    let (chat, seen) = watched(model);
    let mut chat = chat.with_mcp(server);
    chat.ask("go").await.unwrap();
    let values: Vec<_> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|seen| (seen.value, seen.total))
        .collect();
    let expected: Vec<_> = (1..=20)
        .map(|step| (Some(f64::from(step)), Some(20.0)))
        .collect();
    assert_eq!(values, expected);
}

#[tokio::test]
async fn a_question_of_the_server_is_put_to_the_user_and_its_call_goes_on() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    let ask = || {
        ScriptedModel::new()
            .call("trigger-elicitation-request", json!({}))
            .text("done")
    };
    let mut chat = Chat::new(ask()).with_mcp(server.clone());
    let turn = chat.ask("go").await.unwrap();
    let request = turn.pending_inputs()[0].clone();
    assert_eq!(
        request.question,
        "Please provide inputs for the following fields:"
    );
    assert_eq!(request.schema["required"], json!(["name"]));
    assert!(chat.answer(&request, json!({ "integer": 7 })).is_err());
    chat.answer(&request, json!({ "name": "Ada", "integer": 7 }))
        .unwrap();
    chat.complete().await.unwrap();
    let text = &results(&chat)[0].text;
    assert!(text.contains("Ada") && text.contains('7'), "{text}");

    let mut chat = Chat::new(ask()).with_mcp(server);
    let turn = chat.ask("go").await.unwrap();
    chat.decline(&turn.pending_inputs()[0]).unwrap();
    chat.complete().await.unwrap();
    let text = &results(&chat)[0].text;
    assert!(text.contains("declined"), "{text}");
}

#[tokio::test]
async fn a_page_to_visit_is_put_to_the_user_whether_it_is_asked_for_or_is_why_a_call_is_refused() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    let page = "https://example.com/sign-in";
    let call = |is_refused: bool| {
        let arguments = json!({ "url": page, "message": "Sign in.", "errorPath": is_refused });
        ScriptedModel::new()
            .call("trigger-url-elicitation", arguments)
            .text("done")
    };
    for is_refused in [false, true] {
        let mut chat = Chat::new(call(is_refused)).with_mcp(server.clone());
        let mut turn = chat.ask("go").await.unwrap();
        let mut visited = Vec::new();
        while let Turn::Paused(pause) = &turn {
            let request = &pause.inputs[0];
            visited.push(request.url.clone().unwrap());
            chat.answer(request, json!({})).unwrap();
            turn = chat.complete().await.unwrap();
        }
        assert_eq!(outcomes(&chat), [Outcome::Ok], "{:?}", results(&chat));
        assert_eq!(visited.last().unwrap(), page);
        assert_eq!(visited.len(), 1 + usize::from(is_refused), "{visited:?}");
    }
    let mut chat = Chat::new(call(true)).with_mcp(server);
    let turn = chat.ask("go").await.unwrap();
    chat.decline(&turn.pending_inputs()[0]).unwrap();
    chat.complete().await.unwrap();
    let text = &results(&chat)[0].text;
    assert_eq!(
        text,
        "The user did not visit the page that the server asks for."
    );
}

#[tokio::test]
async fn outside_a_chat_a_tool_is_called_as_any_other() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    assert_eq!(server.label(), "mcp-servers/everything");
    let tools = server.tool_set();
    let echo = tools.get("echo").unwrap();
    let output = echo.call(json!({ "message": "hello" })).await.unwrap();
    assert_eq!(output.as_text(), "Echo: hello");
    let asks = tools.get("trigger-elicitation-request").unwrap();
    let error = asks.call(json!({})).await.unwrap_err();
    assert_eq!(error.kind(), tool_core::ToolErrorKind::InputRequired);
}

#[tokio::test]
async fn a_server_of_the_python_sdk_is_used_in_whatever_generation_it_speaks() {
    let Some(python) = python() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_server.py");
    for generation in [Generation::Any, Generation::Handshake] {
        let server = McpServer::command(&python, [script]).with_generation(generation);
        let server = server.connect().await.unwrap();
        assert_eq!(server.label(), "snake");
        let model = ScriptedModel::new()
            .calls([
                ("norm", json!({ "point": { "x": 2, "y": 3 } })),
                ("norm", json!({ "point": { "x": "two" } })),
                ("fail", json!({})),
                ("count", json!({ "to": 3 })),
            ])
            .text("done");
        let (chat, seen) = watched(model);
        let mut chat = chat.with_mcp(server);
        chat.ask("go").await.unwrap();
        let texts: Vec<String> = results(&chat)
            .into_iter()
            .map(|result| result.text)
            .collect();
        let [ok, error] = [Outcome::Ok, Outcome::Error];
        assert_eq!(outcomes(&chat), [ok, error, error, ok], "{texts:?}");
        assert!(texts[0].starts_with('5'), "{texts:?}");
        assert!(
            texts[1].starts_with("Invalid tool arguments: /point/x: "),
            "{texts:?}"
        );
        assert!(texts[2].contains("the disk is full"), "{texts:?}");
        let values: Vec<_> = seen.lock().unwrap().iter().map(|seen| seen.value).collect();
        assert_eq!(values, [1.0, 2.0, 3.0].map(Some));
    }
}
