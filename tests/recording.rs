//! C12: real traffic is recorded without secrets, replayed without a network, and drift fails.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::chat::{echo, set};
use support::server::{End, Reply, Server};
use tool_core::model::{Delta, Model, RemoteMcp, Request};
use tool_core::{
    AssistantMessage, Chat, Message, ModelError, ModelErrorKind, RequestOptions, ToolChoice,
    ToolSet, Transcript,
};
use tool_providers::protocol::responses::Dialect;
use tool_providers::{Anthropic, Api, Compatible, Gemini, OpenAi, Provider, Replay};

const KEY: &str = "sk-proj-aVerySecretKey0123456789";

/// A file that is not there yet.
fn fresh() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recording");
    let path = folder.join(format!("{}-{number}.json", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn read(path: &PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

async fn ask_with(
    provider: &Provider,
    text: &str,
    stream: bool,
    options: &RequestOptions,
) -> Result<AssistantMessage, ModelError> {
    let transcript: Transcript = [Message::User(text.into())].into_iter().collect();
    let (tools, choice) = (ToolSet::new(), ToolChoice::Auto);
    let request = Request::new(&transcript, &tools, &choice, options).with_stream(stream);
    let model = provider.model("m");
    model.generate(request, &mut |_: &Delta<'_>| {}).await
}

async fn ask(
    provider: &Provider,
    text: &str,
    stream: bool,
) -> Result<AssistantMessage, ModelError> {
    ask_with(provider, text, stream, &RequestOptions::new()).await
}

fn answer(text: &str) -> Reply {
    Reply::json(
        200,
        json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] }),
    )
}

fn chunk(delta: Value, finish: Option<&str>) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {chunk}\n\n")
}

fn call(name: &str) -> Reply {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "call_1", "function": { "name": name, "arguments": "{}" } }] });
    Reply::stream([
        chunk(call, None),
        chunk(json!({}), Some("tool_calls")),
        "data: [DONE]\n\n".into(),
    ])
}

fn said(text: &str) -> Reply {
    Reply::stream([
        chunk(json!({ "content": text }), Some("stop")),
        "data: [DONE]\n\n".into(),
    ])
}

async fn talk(provider: &Provider, tool: &'static str) -> String {
    let mut chat = Chat::new(provider.model("m"))
        .with_streaming(true)
        .with_tools(set([echo(tool)]));
    chat.ask("go on").await.unwrap().text()
}

/// A header may hold a word that tools and answers hold too.
#[tokio::test]
async fn a_conversation_with_tools_replays_as_it_was_c12() {
    let path = fresh();
    let server = Server::start([call("weather"), said("fine weather")]).await;
    let live = Compatible::at(&server.address)
        .key(KEY)
        .header("x-title", "weather");
    let recorded = talk(&live.record_to(&path), "weather").await;
    assert_eq!(server.asked().len(), 2);

    let file = read(&path);
    let exchanges = file["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 2);
    let request = &exchanges[0]["request"];
    assert_eq!(
        (&request["method"], &request["path"]),
        (&json!("POST"), &json!("/v1/chat/completions"))
    );
    assert!(request["body"].is_object() && request.get("headers").is_none());
    let response = &exchanges[0]["response"];
    assert_eq!(response["status"], 200);
    assert_eq!(
        response["headers"],
        json!({ "content-type": "text/event-stream" })
    );
    assert!(response["body"].as_str().unwrap().starts_with("data: {"));
    assert!(response.get("broken").is_none());

    let replay = Replay::from(path);
    let provider = Compatible::at("http://nowhere.invalid")
        .key("any")
        .header("x-title", "weather")
        .replay_from(&replay);
    assert_eq!(replay.remaining(), 2);
    assert_eq!(talk(&provider, "weather").await, recorded);
    replay.finish().unwrap();
    assert_eq!(replay.remaining(), 0);
}

#[tokio::test]
async fn drift_names_the_file_the_exchange_and_the_place_c12() {
    let path = fresh();
    let server = Server::start([answer("one"), answer("two")]).await;
    let live = Compatible::at(&server.address).record_to(&path);
    let long = "y".repeat(500);
    ask(&live, "first", false).await.unwrap();
    ask(&live, &format!("{long} second"), false).await.unwrap();

    let replay = Replay::from(path.as_path());
    let provider = Compatible::at("http://localhost").replay_from(&replay);
    ask(&provider, "first", false).await.unwrap();
    let error = ask(&provider, &format!("{long} third"), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    let (text, path) = (error.to_string(), path.display().to_string());
    for part in [
        "exchange 2",
        &path,
        "`body.messages[0].content`",
        "second",
        "third",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.len() < 600, "{text}");

    let error = ask(&provider, "first", true).await.unwrap_err();
    assert!(error.to_string().contains("exchange 2"), "{error}");
    let error = replay.finish().unwrap_err();
    for part in ["1 of the 2", &path, "number 2"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    ask(&provider, &format!("{long} second"), false)
        .await
        .unwrap();
    replay.finish().unwrap();
    let error = ask(&provider, "first", false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(error.to_string().contains("one more request"), "{error}");
}

#[tokio::test]
async fn every_member_and_the_path_count_but_not_their_order_c12() {
    let path = fresh();
    let server = Server::start([answer("one")]).await;
    let live = Compatible::at(&server.address).record_to(&path);
    ask(&live, "first", false).await.unwrap();
    let file = read(&path);
    let replayed = async |change: &dyn Fn(&mut Value)| {
        let mut changed = file.clone();
        change(&mut changed["exchanges"][0]["request"]);
        let path = fresh();
        std::fs::write(&path, changed.to_string()).unwrap();
        let provider = Compatible::at("http://localhost").replay_from(path);
        ask(&provider, "first", false)
            .await
            .map_err(|error| error.to_string())
    };
    let reordered = |request: &mut Value| {
        let body = request["body"].as_object_mut().unwrap();
        *body = std::mem::take(body).into_iter().rev().collect();
    };
    assert_eq!(replayed(&reordered).await.unwrap().text(), "one");
    let error = replayed(&|request| request["method"] = "GET".into()).await;
    assert!(error.unwrap_err().contains("`method`: recorded GET"));
    let error = replayed(&|request| request["path"] = "/v2/x".into()).await;
    assert!(error.unwrap_err().contains("`path`: recorded /v2/x"));
    let error = replayed(&|request| request["body"]["new one"] = json!([1])).await;
    let error = error.unwrap_err();
    assert!(
        error.contains("`body[\"new one\"]`: recorded [1], now nothing"),
        "{error}"
    );
    let error = replayed(&|request| {
        request["body"].as_object_mut().unwrap().remove("model");
    });
    assert!(
        error
            .await
            .unwrap_err()
            .contains("`body.model`: recorded nothing, now \"m\"")
    );
}

#[tokio::test]
async fn each_attempt_is_an_exchange_and_replays_without_waiting_c12() {
    let path = fresh();
    let busy = Reply::json(429, json!({ "error": { "message": "slow down" } }))
        .header("retry-after-ms", "30")
        .header("x-request-id", "req_1")
        .header("set-cookie", "session=1");
    let refused = Reply::json(400, json!({ "error": { "message": "Bad role" } }));
    let broken = Reply::stream([": PROCESSING\n\n"]).end(End::Broken);
    let half = Reply::stream([chunk(json!({ "content": "half" }), None)]).end(End::Broken);
    let server = Server::start([busy, answer("one"), refused, broken, said("two"), half]).await;
    let run = async |provider: Provider| {
        let one = ask(&provider, "a", false).await.unwrap().text();
        let refused = ask(&provider, "b", false).await.unwrap_err();
        let two = ask(&provider, "c", true).await.unwrap().text();
        let half = ask(&provider, "d", true).await.unwrap_err();
        let of = |error: &ModelError| (error.kind(), error.status());
        (one, refused.to_string(), two, of(&refused), of(&half))
    };
    let live = run(Compatible::at(&server.address).record_to(&path)).await;
    assert_eq!(
        (live.4.0, server.asked().len()),
        (ModelErrorKind::Network, 6)
    );

    let mut file = read(&path);
    let first = &mut file["exchanges"][0]["response"];
    assert_eq!(
        first["headers"],
        json!({ "content-type": "application/json", "retry-after-ms": "30", "x-request-id": "req_1" })
    );
    first["headers"]["retry-after-ms"] = "60000".into();
    std::fs::write(&path, file.to_string()).unwrap();
    let replay = Replay::from(path);
    let started = Instant::now();
    let provider = Compatible::at("http://localhost").replay_from(&replay);
    assert_eq!(run(provider).await, live);
    assert!(started.elapsed() < Duration::from_secs(10));
    replay.finish().unwrap();
}

#[tokio::test]
async fn requests_at_the_same_time_get_their_own_answers_c12() {
    let path = fresh();
    let texts = ["a", "b", "c", "d"];
    let server = Server::start(texts.map(|text| answer(&format!("to {text}")))).await;
    let live = Compatible::at(&server.address).record_to(&path);
    for text in texts {
        ask(&live, text, false).await.unwrap();
    }
    let replay = Replay::from(path);
    let provider = Compatible::at("http://localhost").replay_from(&replay);
    let asked = ["c", "a", "d", "b"].map(|text| {
        let provider = provider.clone();
        tokio::spawn(async move { (text, ask(&provider, text, false).await.unwrap().text()) })
    });
    for task in asked {
        let (asked, said) = task.await.unwrap();
        assert_eq!(said, format!("to {asked}"));
    }
    replay.finish().unwrap();
}

#[tokio::test]
async fn a_file_holds_no_secret_wherever_it_was_c12() {
    let secrets = [
        KEY,
        "header-secret-1",
        "bearer-secret-2",
        "query-secret-3",
        "token-secret-4",
        "mcp \"quoted\" secret-5",
        "url-secret-6",
    ];
    let echo = json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "m",
        "tools": [{ "type": "mcp", "authorization": secrets[4], secrets[5]: secrets[6] }],
        "output": [{ "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{ "type": "output_text", "annotations": [], "text": secrets.join(" and ") }] }],
    });
    let event = json!({ "type": "response.completed", "response": echo });
    // The event comes in pieces that cut secrets.
    let event = format!("data: {event}\n\n").into_bytes();
    let replies = [
        Reply::json(200, &echo).header("x-request-id", KEY),
        Reply::stream(event.chunks(7)),
    ];
    let server = Server::start(replies).await;
    let path = fresh();
    let provider = |address: &str, secret: &dyn Fn(usize) -> String| {
        OpenAi::new(secret(0))
            .base_url(format!("{address}/v1?api-key={}", secret(3)))
            .api(Api::Responses(Dialect::OPENAI))
            .header("x-secret", secret(1))
            .header("Authorization", format!("Bearer {}", secret(2)))
    };
    let options = |secret: &dyn Fn(usize) -> String| {
        let url = format!("https://links.example.com/mcp?key={}", secret(6));
        let remote = RemoteMcp::new("links", url)
            .authorization(secret(4))
            .header("x-mcp", secret(5));
        RequestOptions::new().remote_mcp(remote)
    };
    let real = |number: usize| secrets[number].to_owned();
    let live = provider(&server.address, &real).record_to(&path);
    for stream in [false, true] {
        let said = ask_with(&live, "hi", stream, &options(&real))
            .await
            .unwrap();
        assert_eq!(said.text(), secrets.join(" and "));
    }
    let file = std::fs::read_to_string(&path).unwrap();
    for secret in secrets {
        let escaped = Value::from(secret).to_string();
        for form in [secret, escaped.trim_matches('"')] {
            assert!(!file.contains(form), "{form}: {file}");
        }
    }
    assert!(!file.contains("authorization\": \"Bearer") && !file.contains("secret-"));

    // Whoever replays it has other secrets, and gets its own ones.
    let mine = |number: usize| format!("mine-{number}");
    let replay = Replay::from(path);
    let replaying = provider("http://localhost", &mine).replay_from(&replay);
    for stream in [false, true] {
        let said = ask_with(&replaying, "hi", stream, &options(&mine)).await;
        let expected: Vec<String> = (0..7).map(mine).collect();
        assert_eq!(said.unwrap().text(), expected.join(" and "));
    }
    replay.finish().unwrap();
}

#[tokio::test]
async fn keys_of_every_vendor_stay_out_of_the_file_c12() {
    let refused = Reply::json(
        401,
        json!({ "error": { "message": format!("no {KEY}"), "type": "authentication_error" } }),
    );
    for vendor in [Anthropic::new(KEY), Gemini::new(KEY), OpenAi::new(KEY)] {
        let server = Server::start([refused.clone()]).await;
        let path = fresh();
        let live = vendor
            .clone()
            .base_url(&server.address)
            .header("x-own", "my-own-secret");
        let error = ask(&live.record_to(&path), "hi", false).await.unwrap_err();
        assert!(error.message().contains("[key]"), "{error}");
        let file = std::fs::read_to_string(&path).unwrap();
        assert!(!file.contains(KEY) && !file.contains("my-own-secret"));
        let replaying = vendor.key("any").base_url("http://localhost");
        let again = ask(&replaying.replay_from(path), "hi", false)
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), again.kind(), again.status()),
            (ModelErrorKind::Auth, ModelErrorKind::Auth, Some(401))
        );
    }
}

#[tokio::test]
async fn the_file_is_whole_after_each_exchange_c12() {
    let path = fresh();
    let first = Server::start([
        answer("one"),
        said("two").end(End::Silent),
        Reply::stream([chunk(json!({ "content": "half" }), None)]).end(End::Silent),
    ])
    .await;
    let live = Compatible::at(&first.address).record_to(&path);
    ask(&live, "a", false).await.unwrap();
    assert_eq!(read(&path)["exchanges"].as_array().unwrap().len(), 1);
    // The connection does not end, but the answer did.
    ask(&live, "b", true).await.unwrap();
    assert_eq!(read(&path)["exchanges"].as_array().unwrap().len(), 2);
    // Given up by who asked.
    let given_up = ask(&live, "c", true);
    let _ = tokio::time::timeout(Duration::from_millis(100), given_up).await;
    let file = read(&path);
    assert_eq!(file["exchanges"][2]["response"]["broken"], true);
    let folder = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let drafts = folder.filter(|entry| {
        let other = entry.as_ref().unwrap().file_name();
        other.to_string_lossy().starts_with(&format!("{name}."))
    });
    assert_eq!(drafts.count(), 0);

    let provider = Compatible::at("http://localhost")
        .retries(0)
        .replay_from(path);
    assert_eq!(ask(&provider, "a", false).await.unwrap().text(), "one");
    assert_eq!(ask(&provider, "b", true).await.unwrap().text(), "two");
    let error = ask(&provider, "c", true).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Network);
}

#[tokio::test]
async fn a_listed_model_is_recorded_too_c12() {
    let path = fresh();
    let listed = Reply::json(200, json!({ "data": [{ "id": "local" }] }));
    let server = Server::start([listed, answer("yes")]).await;
    let replay = |path: &PathBuf| Compatible::at("http://localhost").replay_from(path.as_path());
    let live = Compatible::at(&server.address).record_to(&path);
    let mut chat = Chat::new(live.first_model());
    assert_eq!(chat.ask("hi").await.unwrap().text(), "yes");
    let model = replay(&path).first_model();
    let mut chat = Chat::new(model.clone());
    assert_eq!(chat.ask("hi").await.unwrap().text(), "yes");
    assert_eq!(model.name(), "local");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_or_read_is_said_by_the_first_request_c12() {
    let server = Server::start([answer("one")]).await;
    let file = fresh();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "not JSON").unwrap();
    let live = Compatible::at(&server.address).record_to(file.join("below.json"));
    let error = ask(&live, "hi", false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(error.to_string().contains("below.json"), "{error}");
    assert_eq!(server.asked().len(), 0);

    for path in [file, fresh()] {
        let replay = Replay::from(path.as_path());
        assert!(replay.finish().is_err());
        let provider = Compatible::at("http://localhost").replay_from(&replay);
        let error = ask(&provider, "hi", false).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        let name = path.display().to_string();
        assert!(error.to_string().contains(&name), "{error}");
    }
}
