//! P6: an MCP server that dies, hangs, floods, talks nonsense or changes its tools harms neither the chat nor
//! other tools, and leaves no process behind. The server is this program itself.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Write, stdin, stdout};
use std::net::TcpStream as Wire;
use std::time::Duration;

use serde_json::{Value, json};
use support::chat::{assert_paired, echo, outcomes, results, set};
use support::mcp::{Line, hung_up, ourselves};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpStream;
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Outcome, Tool};
use tool_providers::mcp::{McpErrorKind, McpServer};

/// What the server does is what its variables and the names of its tools say.
#[test]
#[ignore = "it is the server of the other tests"]
#[allow(
    clippy::zombie_processes,
    reason = "that nobody waits for it is the point"
)]
fn server() {
    let has = |name: &str| std::env::var_os(name).is_some();
    let mut line = std::env::var("LINE")
        .ok()
        .map(|at| Wire::connect(at).unwrap());
    let mut tell = |text: &str| {
        if let Some(line) = &mut line {
            writeln!(line, "{text}").unwrap();
        }
    };
    if has("PARENT") {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["server", "--exact", "--ignored", "--nocapture"]);
        child
            .env_remove("PARENT")
            .env("STUBBORN", "1")
            .spawn()
            .unwrap();
    }
    if has("BROKEN") {
        eprintln!("the disk is gone");
        std::process::exit(1);
    }
    let say = |value: Value| {
        println!("{value}");
        stdout().flush().unwrap();
    };
    println!();
    let mut names = vec![
        "echo", "die", "hang", "flood", "nonsense", "change", "ask", "give_up",
    ];
    let mut asking = Value::Null;
    for input in stdin().lines() {
        let Ok(Ok(message)) = input.map(|input| serde_json::from_str::<Value>(&input)) else {
            continue;
        };
        let id = message["id"].clone();
        let answer = |result: Value| say(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        match message["method"].as_str() {
            Some("server/discover") if has("MUTE") => {}
            Some("server/discover") => {
                let error = json!({ "code": -32601, "message": "method not found" });
                say(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            Some("initialize") if has("MUTE") => {}
            Some("initialize") => answer(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "scripted", "version": "1" }
            })),
            Some("tools/list") => {
                let schema = json!({ "type": "object" });
                let tools: Vec<Value> = names
                    .iter()
                    .map(|name| json!({ "name": name, "inputSchema": schema }))
                    .collect();
                let mut list = json!({ "tools": tools });
                if has("ENDLESS") {
                    list["nextCursor"] = "more".into();
                }
                answer(list);
            }
            Some("tools/call") => {
                let name = message["params"]["name"].as_str().unwrap();
                tell(&format!("called {name}"));
                match name {
                    "die" => std::process::exit(1),
                    "hang" => {}
                    "flood" => {
                        for number in 0..20_000 {
                            let log = json!({ "level": "info", "data": number });
                            say(
                                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": log }),
                            );
                            let params = json!({ "progressToken": "nobody's", "progress": number });
                            say(
                                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
                            );
                        }
                        answer(text("flooded"));
                    }
                    "nonsense" => {
                        println!("{{]] no JSON");
                        say(json!(["a", "list"]));
                        say(
                            json!({ "jsonrpc": "2.0", "id": 424_242, "result": text("not asked for") }),
                        );
                        answer(json!({ "nonsense": true }));
                    }
                    "change" => {
                        names = vec!["echo", "renamed"];
                        say(
                            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
                        );
                        answer(text("changed"));
                    }
                    "ask" => {
                        asking = id.clone();
                        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
                        let params = json!({ "message": "Who?", "requestedSchema": schema });
                        say(
                            json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params }),
                        );
                    }
                    "give_up" => {
                        let params = json!({ "requestId": "q" });
                        say(
                            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
                        );
                        let error = json!({ "code": -32001, "message": "request timed out" });
                        say(json!({ "jsonrpc": "2.0", "id": asking, "error": error }));
                        answer(text("gave up"));
                    }
                    name => answer(text(name)),
                }
            }
            Some("notifications/cancelled") => tell("cancelled"),
            None if message["id"] == "q" && !message["result"].is_null() => {
                let answer = message["result"]["content"]["name"].as_str();
                let result = text(answer.unwrap_or("nobody"));
                say(json!({ "jsonrpc": "2.0", "id": asking, "result": result }));
            }
            _ => {}
        }
    }
    if has("STUBBORN") {
        loop {
            std::thread::park();
        }
    }
    std::process::exit(0);
}

/// The server, and the line to it.
async fn on_line() -> (McpServer, Line) {
    let line = Line::new().await;
    (
        ourselves("server").with_variable("LINE", line.address()),
        line,
    )
}

async fn heard(lines: &mut Lines<BufReader<TcpStream>>) -> String {
    lines.next_line().await.unwrap().unwrap()
}

fn model(calls: &[&str]) -> ScriptedModel {
    calls
        .iter()
        .fold(ScriptedModel::new(), |model, name| {
            model.call(name, json!({}))
        })
        .text("done")
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_gives_one_error_and_the_next_turn_reconnects() {
    let (server, line) = on_line().await;
    let server = server.connect().await.unwrap();
    let first = line.pick_up().await;
    let model = model(&["die", "own"]).call("echo", json!({})).text("done");
    let mut chat = Chat::new(model.clone())
        .with_tools(set([echo("own")]))
        .with_mcp(server);
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Error, Outcome::Ok]);
    let text = &results(&chat)[0].text;
    assert!(
        text.starts_with("the connection to the MCP server `ours` ended")
            && text.ends_with("while this call ran. It may have taken effect."),
        "{text}"
    );
    hung_up(first).await;
    chat.ask("again").await.unwrap();
    assert_eq!(results(&chat)[2].text, "echo");
    assert_paired(chat.messages());
    let tools: Vec<_> = model
        .requests()
        .into_iter()
        .map(|request| request.tools)
        .collect();
    assert!(tools.iter().all(|names| *names == tools[0]), "{tools:?}");
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_left_alone() {
    let server = ourselves("server").connect().await.unwrap();
    let tools = server.tool_set();
    let die = tools.get("die").unwrap();
    die.call(json!({})).await.unwrap_err();
    // The first time it is tried again at once.
    die.call(json!({})).await.unwrap_err();
    let error = server.refresh().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Resting, "{error}");
    let mut chat = Chat::new(model(&["echo", "own"]))
        .with_tools(set([echo("own")]))
        .with_tools(tools.clone());
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Error, Outcome::Ok]);
}

#[tokio::test]
async fn a_call_that_hangs_is_stopped_and_cancelled_on_the_server() {
    let (server, line) = on_line().await;
    let server = server.with_max_run_time(Duration::from_millis(300));
    let server = server.connect().await.unwrap();
    let mut lines = BufReader::new(line.pick_up().await).lines();
    let mut chat = Chat::new(model(&["hang", "echo"])).with_mcp(server);
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::TimedOut, Outcome::Ok]);
    let told = [
        heard(&mut lines).await,
        heard(&mut lines).await,
        heard(&mut lines).await,
    ];
    assert!(told.contains(&"cancelled".to_owned()), "{told:?}");
}

#[tokio::test]
async fn cancelling_the_chat_cancels_on_the_server() {
    let (server, line) = on_line().await;
    let server = server.connect().await.unwrap();
    let mut lines = BufReader::new(line.pick_up().await).lines();
    let model = ScriptedModel::new().call("hang", json!({}));
    let mut chat = Chat::new(model).with_mcp(server);
    let handle = chat.cancel_handle();
    let watch = async {
        assert_eq!(heard(&mut lines).await, "called hang");
        handle.cancel();
        assert_eq!(heard(&mut lines).await, "cancelled");
    };
    let (turn, ()) = tokio::join!(chat.ask("go"), watch);
    assert_eq!(turn.unwrap(), tool_core::Turn::Cancelled);
    assert_eq!(outcomes(&chat), [Outcome::Cancelled]);
}

#[tokio::test]
async fn floods_and_nonsense_are_survived() {
    let server = ourselves("server").connect().await.unwrap();
    let mut chat = Chat::new(model(&["flood", "nonsense", "echo"])).with_mcp(server);
    chat.ask("go").await.unwrap();
    assert_eq!(outcomes(&chat), [Outcome::Ok, Outcome::Error, Outcome::Ok]);
    assert_eq!(
        results(&chat)[1].text,
        "the MCP server `ours` answered what is no answer to this"
    );
}

#[tokio::test]
async fn other_tools_are_offered_from_the_next_turn_on() {
    let server = ourselves("server").connect().await.unwrap();
    let model = model(&["change", "echo"])
        .call("renamed", json!({}))
        .text("done");
    let mut chat = Chat::new(model.clone()).with_mcp(server);
    chat.ask("go").await.unwrap();
    chat.ask("again").await.unwrap();
    let tools: Vec<_> = model
        .requests()
        .into_iter()
        .map(|request| request.tools)
        .collect();
    assert!(tools[..3].iter().all(|names| names.len() == 8), "{tools:?}");
    assert_eq!(tools[3], ["echo", "renamed"]);
    assert_eq!(outcomes(&chat), [Outcome::Ok; 3]);
}

#[tokio::test]
async fn a_call_that_asks_is_kept_on_the_server_and_not_made_again() {
    let (server, line) = on_line().await;
    let server = server.connect().await.unwrap();
    let mut lines = BufReader::new(line.pick_up().await).lines();
    let mut chat = Chat::new(model(&["ask", "echo"])).with_mcp(server);
    let turn = chat.ask("go").await.unwrap();
    chat.answer(&turn.pending_inputs()[0], json!({ "name": "Ada" }))
        .unwrap();
    chat.complete().await.unwrap();
    assert_eq!(results(&chat)[0].text, "Ada");
    assert_eq!(heard(&mut lines).await, "called ask");
    assert_eq!(heard(&mut lines).await, "called echo");
}

#[tokio::test]
async fn a_server_that_does_not_wait_for_the_user_is_called_again_with_the_answer_at_hand() {
    let (server, line) = on_line().await;
    let server = server.connect().await.unwrap();
    let mut lines = BufReader::new(line.pick_up().await).lines();
    let mut chat = Chat::new(model(&["ask"])).with_mcp(server.clone());
    let turn = chat.ask("go").await.unwrap();
    let give_up = server.tool_set().get("give_up").unwrap().clone();
    give_up.call(json!({})).await.unwrap();
    chat.answer(&turn.pending_inputs()[0], json!({ "name": "Ada" }))
        .unwrap();
    chat.complete().await.unwrap();
    assert_eq!(results(&chat)[0].text, "Ada");
    for expected in ["called ask", "called give_up", "called ask"] {
        assert_eq!(heard(&mut lines).await, expected);
    }
}

#[tokio::test]
async fn what_cannot_be_connected_says_why() {
    let missing = McpServer::command("there-is-no-such-program", [""; 0]);
    let error = missing.connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Start);
    assert!(
        error.to_string().contains("`there-is-no-such-program`"),
        "{error}"
    );

    let broken = ourselves("server").with_variable("BROKEN", "1");
    let error = broken.connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Closed, "{error}");
    assert!(
        error
            .to_string()
            .ends_with("it wrote last: the disk is gone"),
        "{error}"
    );

    let mute = ourselves("server").with_variable("MUTE", "1");
    let mute = mute.with_patience(Duration::from_millis(300));
    let error = mute.connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Timeout, "{error}");

    let endless = ourselves("server").with_variable("ENDLESS", "1");
    let error = endless.connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Protocol, "{error}");
}

#[tokio::test]
async fn closing_the_chat_ends_the_process_and_all_that_it_has_started() {
    for behaviour in ["", "STUBBORN", "PARENT"] {
        let (server, line) = on_line().await;
        let server = match behaviour {
            "" => server,
            name => server.with_variable(name, "1"),
        };
        let server = server.connect().await.unwrap();
        let mut lines = vec![line.pick_up().await];
        if behaviour == "PARENT" {
            lines.push(line.pick_up().await);
        }
        let mut chat = Chat::new(model(&["echo"])).with_mcp(server);
        chat.ask("go").await.unwrap();
        drop(chat);
        for line in lines {
            hung_up(line).await;
        }
    }
}

#[tokio::test]
async fn a_panic_leaves_no_process_behind() {
    let (server, line) = on_line().await;
    let server = server
        .with_variable("STUBBORN", "1")
        .connect()
        .await
        .unwrap();
    let line = line.pick_up().await;
    let panics = async move {
        let mut chat = Chat::new(model(&["echo"]))
            .with_mcp(server)
            .after_message(|_| panic!("a callback panics"));
        chat.ask("go").await.map(drop)
    };
    assert!(tokio::spawn(panics).await.unwrap_err().is_panic());
    hung_up(line).await;
}

#[tokio::test]
async fn the_end_of_the_runtime_leaves_no_process_behind() {
    let (server, line) = on_line().await;
    let server = server.with_variable("STUBBORN", "1");
    let thread = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(server.connect()).unwrap()
    });
    let picked_up = line.pick_up().await;
    let _server = tokio::task::spawn_blocking(|| thread.join().unwrap())
        .await
        .unwrap();
    hung_up(picked_up).await;
}
