//! P6: MCP servers over streamable HTTP, with headers and a bearer token.
#![allow(clippy::unwrap_used)]

mod support;

use std::process::Stdio;

use serde_json::json;
use support::chat::{assert_paired, outcomes, results};
use support::mcp::{node_script, watched};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Outcome};
use tool_providers::mcp::{McpErrorKind, McpServer};

/// `server-everything` over HTTP, at a free port, or at that of one before it.
async fn everything(port: Option<u16>) -> Option<(Child, u16)> {
    let script = node_script("server-everything")?;
    let port = match port {
        Some(port) => port,
        None => {
            let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
            free.local_addr().unwrap().port()
        }
    };
    let mut child = Command::new("node")
        .arg(script)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            // What else it says is not read; it must not wait for that.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Some((child, port));
        }
    }
    panic!("the server did not start");
}

fn at(port: u16) -> McpServer {
    McpServer::http(format!("http://127.0.0.1:{port}/mcp")).named("everything")
}

#[tokio::test]
async fn tools_progress_and_questions_work_over_http() {
    let Some((_child, port)) = everything(None).await else {
        return;
    };
    let server = at(port).connect().await.unwrap();
    let model = ScriptedModel::new()
        .calls([
            ("echo", json!({ "message": "hello" })),
            (
                "trigger-long-running-operation",
                json!({ "duration": 0.1, "steps": 5 }),
            ),
            ("trigger-elicitation-request", json!({})),
        ])
        .text("done");
    let (chat, seen) = watched(model);
    let mut chat = chat.with_mcp(server);
    let turn = chat.ask("go").await.unwrap();
    chat.answer(&turn.pending_inputs()[0], json!({ "name": "Ada" }))
        .unwrap();
    chat.complete().await.unwrap();
    let results = results(&chat);
    assert_eq!(outcomes(&chat), [Outcome::Ok; 3], "{results:?}");
    assert_eq!(results[0].text, "Echo: hello");
    assert!(results[2].text.contains("Ada"), "{}", results[2].text);
    let values: Vec<_> = seen.lock().unwrap().iter().map(|seen| seen.value).collect();
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0].map(Some));
    assert_paired(chat.messages());
}

#[tokio::test]
async fn deferred_tools_are_found_and_wait_for_approval_over_http() {
    let Some((_child, port)) = everything(None).await else {
        return;
    };
    let server = at(port).deferred().requires_approval_of(["get-sum"]);
    let server = server.connect().await.unwrap();
    let sum = |b: i64| json!({ "name": "get-sum", "arguments": { "a": 2, "b": b } });
    let model = ScriptedModel::new()
        .call("search_tools", json!({ "query": "sum of two numbers" }))
        .calls([("call_tool", sum(3)), ("call_tool", sum(4))])
        .text("done");
    let mut chat = Chat::new(model).with_mcp(server);
    let pending = chat.ask("go").await.unwrap().pending_approvals().to_vec();
    assert_eq!(chat.deferred_tools().len(), chat.tools().len());
    let names: Vec<_> = pending.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["get-sum"; 2]);
    chat.approve(&pending[0]).unwrap();
    chat.deny(&pending[1]).unwrap();
    chat.complete().await.unwrap();
    let results = results(&chat);
    assert!(results[0].text.contains("get-sum:"), "{}", results[0].text);
    assert_eq!(results[1].text, "The sum of 2 and 3 is 5.");
    assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Ok, Outcome::Denied]);
}

#[tokio::test]
async fn calls_at_once_are_told_apart_when_one_asks() {
    let Some((_child, port)) = everything(None).await else {
        return;
    };
    let server = at(port).connect().await.unwrap();
    let model = ScriptedModel::new()
        .calls([
            (
                "trigger-long-running-operation",
                json!({ "duration": 0.5, "steps": 2 }),
            ),
            ("trigger-elicitation-request", json!({})),
        ])
        .text("done");
    let options = tool_core::ToolOptions::new().concurrency(2);
    let mut chat = Chat::new(model).with_mcp(server).with_tool_options(options);
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.pending_inputs()[0].tool, "trigger-elicitation-request");
    chat.decline(&turn.pending_inputs()[0]).unwrap();
    chat.complete().await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Ok; 2]);
}

#[tokio::test]
async fn a_server_that_is_killed_in_a_call_and_started_again_is_reconnected() {
    let Some((mut child, port)) = everything(None).await else {
        return;
    };
    let server = at(port).connect().await.unwrap();
    let long = json!({ "duration": 60, "steps": 600 });
    let model = ScriptedModel::new()
        .call("trigger-long-running-operation", long)
        .text("done")
        .call("echo", json!({ "message": "again" }))
        .text("done");
    let (working, mut works) = tokio::sync::mpsc::unbounded_channel();
    let mut chat = Chat::new(model)
        .with_mcp(server)
        .after_tool_progress(move |_| working.send(()).unwrap());
    let kill = async {
        works.recv().await.unwrap();
        child.kill().await.unwrap();
    };
    let (turn, ()) = tokio::join!(chat.ask("go"), kill);
    turn.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Error]);
    let _again = everything(Some(port)).await.unwrap();
    chat.ask("go on").await.unwrap();
    assert_eq!(results(&chat)[1].text, "Echo: again");
    assert_paired(chat.messages());
}

/// Reads the head of a request and answers it.
async fn answer(listener: &TcpListener, head: &str) -> String {
    let (mut stream, _): (TcpStream, _) = listener.accept().await.unwrap();
    let mut read = Vec::new();
    while !read.windows(4).any(|four| four == b"\r\n\r\n") {
        read.push(stream.read_u8().await.unwrap());
    }
    let answer = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    String::from_utf8(read).unwrap().to_lowercase()
}

#[tokio::test]
async fn headers_and_the_token_are_sent_and_never_shown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = at(port)
        .with_bearer_token("very-secret-token")
        .with_header("x-team", "very-secret-team");
    let shown = format!("{server:?}");
    let connecting = server.connect();
    let refuse = answer(&listener, "401 Unauthorized\r\nwww-authenticate: Bearer");
    let (connected, head) = tokio::join!(connecting, refuse);
    assert!(
        head.contains("authorization: bearer very-secret-token"),
        "{head}"
    );
    assert!(head.contains("x-team: very-secret-team"), "{head}");
    let error = connected.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Unauthorized);
    let text = format!("{error} {error:?} {shown}");
    assert!(text.contains("wants another bearer token"), "{text}");
    assert!(!text.contains("very-secret"), "{text}");
}

#[tokio::test]
async fn what_is_no_server_says_so() {
    let error = McpServer::http("ftp://example.com")
        .connect()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Configuration);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let error = at(port).connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Connect, "{error}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}
