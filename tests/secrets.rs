//! P4: a key never appears in what is shown, logged or reported.
#![allow(clippy::unwrap_used)]

mod support;

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use support::proxy::{Does, Proxy};
use support::server::{Reply, Server};
use support::tls::{AUTHORITY, Http2};
use support::vendors::{all, ask_with, whole};
use tool_core::model::RemoteMcp;
use tool_core::{Chat, ModelError, ModelErrorKind, RequestOptions};
use tool_providers::{Compatible, OpenAi, Provider, Secret};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const KEY: &str = "sk-proj-aVerySecretKey0123456789";

/// What is planted, each in its place.
const PLANTED: [&str; 8] = [
    KEY,
    "own-header-Secret0123456789",
    "proxy-Secret0123456789",
    "own-query-Secret0123456789",
    "mcp-token-Secret0123456789",
    "mcp-query-Secret0123456789",
    "mcp-password-Secret0123456789",
    "mcp-header-Secret0123456789",
];

/// All that is logged, by us and by what we build on.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<String>>);

struct Write<'a>(&'a mut String);

impl Visit for Write<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Subscriber for Logged {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut text = self.0.lock().unwrap();
        text.push_str(attributes.metadata().name());
        attributes.record(&mut Write(&mut text));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Write(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        text.push_str(&format!("\n{}:", event.metadata().target()));
        event.record(&mut Write(&mut text));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn all_of(error: &ModelError) -> String {
    let mut shown = format!("{error} {error:?} {error:#?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        shown.push_str(&format!("{error} {error:?}"));
        cause = error.source();
    }
    shown
}

#[track_caller]
fn assert_none_planted(what: &str, shown: &str) {
    for secret in PLANTED {
        let at = shown.find(secret);
        let around = at.map(|at| &shown[at.saturating_sub(200)..at]);
        assert!(around.is_none(), "{secret} of {what}, after {around:?}");
    }
}

/// Remote servers; `headers`: one that takes a header too.
fn with_remote(headers: bool) -> RequestOptions {
    let (query, password) = (PLANTED[5], PLANTED[6]);
    let address = format!("https://me:{password}@mcp.example/sse?key={query}");
    let mcp = RemoteMcp::new("docs", address).without_approval();
    let mut options = RequestOptions::new();
    options.remote_mcp = vec![mcp.clone().authorization(PLANTED[4])];
    if headers {
        options.remote_mcp.push(mcp.header("x-secret", PLANTED[7]));
    }
    options
}

/// Answers that hold these, in all the places where a server may quote what it was sent.
fn quoting(secrets: &[&str]) -> Vec<Reply> {
    let echo = secrets.join(" ");
    let mut replies = vec![
        Reply::json(401, json!({ "error": { "message": echo, "type": "x" } })),
        Reply::json(400, format!("[{{\"error\":\"{echo}\"}}]")),
        Reply::json(200, format!("not JSON: {echo}")),
        Reply::json(200, json!({ "error": echo })).header("x-request-id", KEY),
        Reply::stream([format!(
            "event: error\ndata: {{\"message\":\"{echo}\"}}\n\n"
        )]),
        Reply::stream([format!(
            "data: {{\"error\":{{\"message\":\"{echo}\"}}}}\n\n"
        )]),
        Reply::json(200, format!("<html>{} {echo}", ".".repeat(170))).kind("text/html"),
        Reply::json(302, "").header("location", &format!("http://x/?key={}", secrets[3])),
    ];
    // An excerpt ends in the middle of each.
    let cut = secrets
        .iter()
        .map(|secret| format!("{}{secret}", ".".repeat(390)));
    replies.extend(cut.map(|body| Reply::json(500, body)));
    // Each is asked for whole and as a stream.
    let both = |reply: Reply| [reply.clone(), reply];
    replies.into_iter().flat_map(both).collect()
}

/// Asks all of these, and returns what is shown.
async fn shown_by(provider: &Provider, options: &RequestOptions, replies: usize) -> String {
    let model = provider.model("m");
    let mut shown = format!("{provider:?} {provider:#?} {model:?} {options:?} {options:#?}");
    shown.push_str(&format!("{:?}", Chat::new(model)));
    for number in 0..replies {
        let error = match ask_with(provider, number % 2 == 1, options).await.0 {
            Ok(_) => continue,
            Err(error) => error,
        };
        shown.push_str(&all_of(&error));
        // Not even the beginning of one.
        for secret in PLANTED {
            assert!(!error.message().contains(&secret[..8]), "{error}");
        }
    }
    shown
}

/// Each is sent to where it belongs, comes back in an answer, and is seen nowhere else.
#[tokio::test]
async fn nothing_that_is_planted_is_shown_for_any_provider_p4() {
    let logged = Logged::default();
    let _guard = tracing::subscriber::set_default(logged.clone());
    for (name, _) in all("", "") {
        // Anthropic sends a remote server no headers.
        let headers = name != "anthropic";
        let remote = (with_remote(headers), if headers { 8 } else { 7 });
        for (options, count) in [(RequestOptions::new(), 4), remote] {
            let replies = quoting(&PLANTED[..count]);
            let server = Server::start(replies.clone()).await;
            let proxy = Proxy::start(Does::Http, server.authority()).await;
            let file = format!("secrets-{}-{name}-{count}.json", std::process::id());
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
            let address = format!("http://model.example/v1?key={}", PLANTED[3]);
            let providers = all(&address, KEY);
            let (_, provider) = providers
                .into_iter()
                .find(|(other, _)| *other == name)
                .unwrap();
            let provider = provider
                .header("x-own", PLANTED[1])
                .proxy(format!("http://user:{}@{}", PLANTED[2], proxy.authority))
                .retries(0)
                .record_to(&file);
            let shown = shown_by(&provider, &options, replies.len()).await;
            assert_none_planted(name, &shown);
            let bodies = server.asked().into_iter();
            let bodies = bodies.map(|asked| String::from_utf8_lossy(&asked.body).into_owned());
            let mut sent: String = bodies.collect();
            sent.push_str(&format!("{:?}", server.asked()));
            if server.asked().is_empty() {
                // Of remote servers it knows nothing.
                assert!(count > 4 && shown.contains("MCP servers"), "{name}");
                continue;
            }
            // They were sent all the same, and answered in every way.
            assert!(sent.contains(KEY) && sent.contains(PLANTED[1]), "{name}");
            assert!(shown.contains("[key]"), "{name}");
            assert!(server.asked().len() >= replies.len(), "{name}");
            let recorded = std::fs::read_to_string(file).unwrap();
            assert!(recorded.contains("[hidden: key"), "{name}");
            assert_none_planted(&format!("the recording of {name}"), &recorded);
            for secret in &PLANTED[4..count.max(4)] {
                assert!(sent.contains(secret), "{name}: {secret}");
            }
        }
    }
    assert_none_planted("the log", &logged.0.lock().unwrap());
}

#[tokio::test]
async fn nothing_is_logged_by_http_2_p4() {
    let logged = Logged::default();
    let _guard = tracing::subscriber::set_default(logged.clone());
    let echo = [KEY, PLANTED[1], PLANTED[3]].join(" ");
    let error = json!({ "error": { "message": echo, "type": "x" } });
    for (status, body) in [(401, error), (200, whole("compatible", "yes"))] {
        let server = Http2::start(status, body).await;
        let address = format!("{}/v1?key={}", server.address, PLANTED[3]);
        for (_, provider) in all(&address, KEY) {
            let provider = provider
                .header("x-secret", PLANTED[1])
                .root_certificate(AUTHORITY)
                .retries(0);
            let (answer, _) = ask_with(&provider, false, &with_remote(true)).await;
            let shown = answer.err().map(|error| all_of(&error));
            assert_none_planted("HTTP/2", &shown.unwrap_or_default());
            let mut chat = Chat::new(provider.model("m")).with_streaming(true);
            let shown = match chat.ask("hi").await {
                Ok(_) => String::new(),
                Err(error) => all_of(error.model_error().unwrap()) + &format!("{error:?}"),
            };
            assert_none_planted("HTTP/2", &format!("{shown} {chat:?}"));
        }
        assert!(server.counted().1 >= 5);
    }
    let text = logged.0.lock().unwrap();
    for part in ["h2::", "gen_ai.request.model"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_none_planted("the log", &text);
}

#[test]
fn the_address_of_a_remote_server_is_shown_without_login_and_query() {
    for (url, shown) in [
        (
            "https://me:secret@host:1/a@b?key=secret",
            "https://host:1/a@b",
        ),
        ("me:secret@host", "host"),
        ("https://host/a#secret", "https://host/a"),
        ("", ""),
    ] {
        let server = format!("{:?}", RemoteMcp::new("docs", url));
        assert!(server.contains(&format!("url: {shown:?}")), "{server}");
    }
}

/// What is written with percents in an address may come back without.
#[tokio::test]
async fn a_key_of_an_address_is_known_in_both_forms_p4() {
    let reply = Reply::json(
        400,
        json!({ "error": { "message": "no a/b+c=d, no a%2Fb+c%3Dd" } }),
    );
    let server = Server::start([reply]).await;
    let provider = Compatible::at(format!("{}/v1?key=a%2Fb+c%3Dd", server.address));
    let error = ask_with(&provider, false, &RequestOptions::new()).await.0;
    assert_eq!(error.unwrap_err().message(), "no [key], no [key]");
}

#[track_caller]
fn assert_hidden(error: &ModelError) {
    let shown = all_of(error);
    assert!(!shown.contains(KEY), "{shown}");
}

#[test]
fn debug_hides_keys_and_headers() {
    let provider = OpenAi::new(KEY).header("api-key", KEY);
    let model = provider.model("m");
    let shown = format!(
        "{:?} {provider:?} {provider:#?} {model:?}",
        Secret::new(KEY)
    );
    assert!(!shown.contains(KEY), "{shown}");
    assert!(!format!("{:?}", Chat::new(model)).contains(KEY));
}

#[tokio::test]
async fn an_error_that_quotes_the_key_is_reported_without_it() {
    let body = json!({ "error": {
        "message": format!("Incorrect API key provided: {KEY}. You can find yours online."),
        "code": "invalid_api_key",
    } });
    let plain = Reply::json(401, body).header("x-request-id", "req_1");
    let broken = Reply::json(200, format!("not JSON, but {KEY}"));
    let inside = Reply::stream([format!("data: {{\"error\":\"no {KEY}\"}}\n\n")]);
    let listed = Reply::json(200, json!({ "choices": [{ "index": KEY }] }));
    for reply in [plain, broken, inside, listed] {
        let server = Server::start([reply]).await;
        let model = Compatible::at(&server.address)
            .key(KEY)
            .retries(0)
            .model("m");
        let error = Chat::new(model)
            .with_streaming(true)
            .ask("hi")
            .await
            .unwrap_err();
        assert_hidden(error.model_error().unwrap());
        let sent = server.asked()[0]
            .header("authorization")
            .unwrap()
            .to_owned();
        assert_eq!(sent, format!("Bearer {KEY}"));
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_an_error_without_it() {
    let model = OpenAi::new(format!("{KEY}\n{KEY}")).model("m");
    let error = Chat::new(model).ask("hi").await.unwrap_err();
    let error = error.model_error().unwrap();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert_hidden(error);
}

#[tokio::test]
async fn a_password_in_an_address_is_refused_without_being_shown() {
    let model = Compatible::at(format!("http://user:{KEY}@localhost/v1")).model("m");
    let error = Chat::new(model).ask("hi").await.unwrap_err();
    let error = error.model_error().unwrap();
    assert!(error.to_string().contains("password"), "{error}");
    assert_hidden(error);
}

#[tokio::test]
async fn an_address_that_holds_a_key_is_not_shown() {
    let moved = Reply::json(307, "").header("location", &format!("http://elsewhere/?key={KEY}"));
    let server = Server::start([moved]).await;
    let addresses = [
        format!("htp://x?k={KEY}"),
        format!("http://[x?k={KEY}"),
        format!("http://user:{KEY}@localhost"),
        format!("{}/v1?key={KEY}&x=1", server.address),
    ];
    for address in addresses {
        for provider in [Compatible::at(&address).key(KEY), Compatible::at(&address)] {
            let error = Chat::new(provider.retries(0).model("m"))
                .ask("hi")
                .await
                .unwrap_err();
            assert_hidden(error.model_error().unwrap());
            assert!(!format!("{provider:?}", provider = Compatible::at(&address)).contains(KEY));
        }
    }
}
