//! P6: our tools as an MCP server, used by the Python SDK, which no one here wrote, and by our own client over
//! both generations of the protocol.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use support::chat::{assert_paired, outcomes, results};
use support::mcp::{ourselves, python, watched};
use tokio::net::TcpListener;
use tokio::process::Command;
use tool_core::testing::ScriptedModel;
use tool_core::{
    Attachment, Chat, Outcome, Task, TaskPoll, Tool, ToolCall, ToolError, ToolSet, Turn, tool,
    tools,
};
use tool_providers::mcp::{Generation, McpServer, McpService};

/// Says it louder.
#[tool(provider_options(mcp = { "annotations": { "readOnlyHint": true } }))]
async fn shout(
    /// What to say.
    text: String,
) -> String {
    text.to_uppercase()
}

/// Fails.
#[tool]
async fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("the disk is full"))
}

/// Counts.
#[tool]
async fn count(to: u32, tool_call: &ToolCall) -> Value {
    for number in 1..=to {
        tool_call.progress("counting", number, to);
    }
    json!({ "counted": to })
}

/// Books a table.
#[tool]
async fn book(day: String, tool_call: &ToolCall) -> Result<String, ToolError> {
    let fields = json!({ "guests": { "type": "integer", "minimum": 1, "required": true } });
    let party = tool_call.ask(format!("How many on {day}?"), fields).await?;
    Ok(match party.accepted() {
        true => format!("a table for {} on {day}", party["guests"]),
        false => "nobody comes".into(),
    })
}

/// Deletes something.
#[tool(requires_approval)]
async fn delete(what: String) -> String {
    format!("{what} is deleted")
}

/// Draws.
#[tool]
async fn picture() -> Attachment {
    Attachment::from_bytes("image/png", b"no picture")
}

struct Bake;

#[tool]
impl Bake {
    /// Bakes bread.
    async fn execute(&self) -> Task {
        Task::new(0)
            .with_message("kneading")
            .with_poll_interval(Duration::from_millis(20))
    }

    async fn resume(&self, task: Task) -> TaskPoll<String> {
        match task.data.as_u64() {
            Some(2) => TaskPoll::Ready("bread".into()),
            done => {
                let next = Task::new(done.unwrap_or_default() + 1);
                TaskPoll::Pending(next.with_poll_interval(Duration::from_millis(20)))
            }
        }
    }
}

fn all() -> ToolSet {
    tools![Shout, Fail, Count, Book, Delete, Picture, Bake]
}

fn service() -> McpService {
    McpService::new(all()).named("kitchen", "1.2.3")
}

#[tokio::test]
#[ignore = "it is the server of the other tests"]
async fn server() {
    println!();
    service().serve_stdio().await.unwrap();
    std::process::exit(0);
}

/// The server in an axum application.
async fn over_http(service: McpService) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().nest_service("/mcp", service.into_http());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}/mcp")
}

async fn python_client(arguments: &[&str], is_mute: bool) -> Option<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mcp_client.py");
    let mut client = Command::new(python()?);
    if is_mute {
        client.env("MUTE", "1");
    }
    let output = client.arg(script).args(arguments).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn assert_served(seen: &Value) {
    assert_eq!(seen["server"], "kitchen");
    let tools = seen["tools"].as_object().unwrap();
    assert_eq!(tools.len(), 7, "{tools:?}");
    assert_eq!(tools["shout"]["description"], "Says it louder.");
    let schema = &tools["shout"]["schema"];
    assert_eq!(schema["required"], json!(["text"]));
    assert_eq!(schema["properties"]["text"]["description"], "What to say.");
    let hints = |tool: &str| tools[tool]["annotations"].to_string();
    assert!(hints("shout").contains("true"), "{}", hints("shout"));
    assert!(hints("delete").contains("true"), "{}", hints("delete"));
    let results = &seen["results"];
    let text = |key: &str| results[key]["text"][0].as_str().unwrap_or_default();
    assert_eq!(text("shout"), "HEY");
    assert_eq!(results["wrong"]["error"], true);
    assert!(
        text("wrong").starts_with("Invalid tool arguments: "),
        "{results}"
    );
    assert_eq!(results["fail"]["error"], true);
    assert_eq!(text("fail"), "the disk is full");
    assert_eq!(results["count"]["structured"], json!({ "counted": 3 }));
    let counting = |number: u32| json!([f64::from(number), 3.0, "counting"]);
    assert_eq!(
        seen["progress"],
        json!([counting(1), counting(2), counting(3)])
    );
    assert_eq!(text("book"), "a table for 4 on Friday");
    assert_eq!(text("delete"), "old is deleted");
    assert_eq!(results["kept"]["error"], true);
    assert!(
        text("kept").contains("The user denied this call"),
        "{results}"
    );
    assert_eq!(results["picture"]["kinds"], json!(["text", "image"]));
    assert_eq!(text("bake"), "bread");
    assert!(
        results["unknown"]
            .to_string()
            .contains("there is no tool `unknown`"),
        "{results}"
    );
    let asked: Vec<&str> = seen["asked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|asked| asked.as_str().unwrap())
        .collect();
    assert_eq!(asked[0], "How many on Friday?");
    assert!(
        asked[1].starts_with("Allow the call of `delete` with "),
        "{asked:?}"
    );
}

#[tokio::test]
#[cfg(unix)]
async fn the_python_client_uses_the_tools_over_stdio() {
    let program = std::env::current_exe().unwrap();
    // The test harness writes words of its own.
    let line = format!(
        "'{}' server --exact --ignored --nocapture | grep --line-buffered '^{{'",
        program.display()
    );
    let Some(seen) = python_client(&["stdio", "sh", "-c", &line], false).await else {
        return;
    };
    assert_served(&seen);
}

#[tokio::test]
async fn the_python_client_uses_the_tools_over_http() {
    let url = over_http(service()).await;
    let Some(seen) = python_client(&["http", &url], false).await else {
        return;
    };
    assert_served(&seen);
}

#[tokio::test]
async fn a_client_that_cannot_ask_its_user_reads_so() {
    let url = over_http(service()).await;
    let Some(seen) = python_client(&["http", &url], true).await else {
        return;
    };
    let results = &seen["results"];
    for (key, expected) in [
        (
            "book",
            "`book` asks the user something, and this client cannot",
        ),
        (
            "delete",
            "needs the approval of a person, and this client cannot ask one",
        ),
    ] {
        assert_eq!(results[key]["error"], true);
        assert!(
            results[key]["text"].to_string().contains(expected),
            "{results}"
        );
    }
    assert_eq!(results["shout"]["error"], false);
}

/// What our own client makes of the server, over this generation.
async fn assert_used(server: McpServer, generation: Generation) {
    let server = server.with_generation(generation).connect().await.unwrap();
    let model = ScriptedModel::new()
        .calls([
            ("shout", json!({ "text": "hey" })),
            ("fail", json!({})),
            ("count", json!({ "to": 3 })),
            ("book", json!({ "day": "Friday" })),
            ("delete", json!({ "what": "old" })),
            ("picture", json!({})),
            ("bake", json!({})),
        ])
        .text("done");
    let (chat, seen) = watched(model);
    let mut chat = chat.with_mcp(server);
    let mut turn = chat.ask("go").await.unwrap();
    let mut asked = Vec::new();
    while let Turn::Paused(pause) = &turn {
        for request in &pause.inputs {
            asked.push(request.question.clone());
            let answer = match request.question.starts_with("Allow") {
                true => json!({ "allow": true }),
                false => json!({ "guests": 2 }),
            };
            chat.answer(request, answer).unwrap();
        }
        turn = chat.complete().await.unwrap();
    }
    let results = results(&chat);
    let [ok, error] = [Outcome::Ok, Outcome::Error];
    assert_eq!(
        outcomes(&chat),
        [ok, error, ok, ok, ok, ok, ok],
        "{results:?}"
    );
    let texts: Vec<&str> = results.iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts[0..2], ["HEY", "the disk is full"]);
    assert_eq!(texts[3..5], ["a table for 2 on Friday", "old is deleted"]);
    assert_eq!(texts[6], "bread");
    assert!(results[5].attachments[0].is_image());
    assert_eq!(asked.len(), 2, "{asked:?}");
    let values: Vec<_> = seen.lock().unwrap().iter().map(|seen| seen.value).collect();
    assert_eq!(values, [1.0, 2.0, 3.0].map(Some));
    assert_paired(chat.messages());
}

#[tokio::test]
async fn our_client_uses_the_tools_over_stdio_in_both_generations() {
    assert_used(ourselves("server"), Generation::Handshake).await;
    assert_used(ourselves("server"), Generation::Stateless).await;
}

#[tokio::test]
async fn our_client_uses_the_tools_over_http_in_both_generations() {
    let url = over_http(service()).await;
    assert_used(McpServer::http(&url), Generation::Handshake).await;
    assert_used(McpServer::http(&url), Generation::Stateless).await;
}

#[tokio::test]
async fn a_task_is_one_for_a_client_that_knows_tasks() {
    let url = over_http(service()).await;
    let server = McpServer::http(url).connect().await.unwrap();
    let model = ScriptedModel::new().call("bake", json!({})).text("done");
    let mut chat = Chat::new(model).with_mcp(server);
    let turn = chat.ask("go").await.unwrap();
    let tasks = turn.pending_tasks();
    assert_eq!(tasks[0].1.message.as_deref(), Some("kneading"), "{turn}");
    assert_eq!(tasks[0].1.poll_interval, Some(Duration::from_millis(20)));
    let mut turn = turn;
    while turn.answer().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        turn = chat.complete().await.unwrap();
    }
    assert_eq!(results(&chat)[0].text, "bread");
}

#[tokio::test]
async fn the_chat_of_a_call_is_prepared_by_the_application() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sink = reports.clone();
    let service = service().with_chat(move |chat| {
        let sink = sink.clone();
        chat.after_tool_progress(move |progress| sink.lock().unwrap().push(progress.value))
    });
    let url = over_http(service).await;
    let server = McpServer::http(url).connect().await.unwrap();
    let count = server.tool_set().get("count").unwrap().clone();
    count.call(json!({ "to": 2 })).await.unwrap();
    assert_eq!(*reports.lock().unwrap(), [Some(1.0), Some(2.0)]);
}
