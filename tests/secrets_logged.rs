//! P4: what is planted in a configuration is in no log, of ours or of a library, at any level; nor in errors and
//! `Debug`.
#![allow(clippy::unwrap_used)]

mod support;

use std::error::Error;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;
use support::server::{Reply, Server};
use support::tls::{TlsServer, authority};
use tool_core::model::RemoteMcp;
use tool_core::{Chat, RequestOptions};
use tool_providers::protocol::responses::Dialect;
use tool_providers::{Anthropic, Api, Compatible, Gemini, Ollama, OpenAi, Provider};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const KEY: &str = "sk-a-planted-key-0123456789";
const HEADER: &str = "a-planted-header-value";
const TOKEN: &str = "a-planted-token-of-a-server";
const QUERY: &str = "a-planted-parameter";
const ALL: [&str; 4] = [KEY, HEADER, TOKEN, QUERY];

/// Keeps all that anybody logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0.lock().unwrap(), " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        write!(self.0.lock().unwrap(), "\n{}", attributes.metadata().name()).unwrap();
        attributes.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        write!(self.0.lock().unwrap(), "\n{}", event.metadata().target()).unwrap();
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[track_caller]
fn assert_hidden(text: &str, what: &str) {
    for secret in ALL {
        if let Some(at) = text.find(secret) {
            let from = at.saturating_sub(200);
            panic!("{what} shows {secret}: {}", &text[from..at + secret.len()]);
        }
    }
}

fn shown(error: &(dyn Error + 'static)) -> String {
    let mut shown = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        write!(shown, "{error} {error:?} {error:#?} ").unwrap();
        cause = error.source();
    }
    shown
}

/// Whether the provider itself calls MCP servers, for which it is told their tokens.
fn runs_servers(provider: &Provider) -> bool {
    matches!(provider.spoken(), Api::Responses(_) | Api::Anthropic(_))
}

async fn ask(provider: &Provider, stream: bool) -> String {
    let mcp = RemoteMcp::new("planted", "https://mcp.example")
        .authorization(TOKEN)
        .without_approval();
    let model = provider.model("m");
    let mut shown_too = format!("{provider:?} {provider:#?} {model:?} {mcp:?}");
    let options = match runs_servers(provider) {
        true => RequestOptions::new().remote_mcp(mcp),
        false => RequestOptions::new(),
    };
    write!(shown_too, "{options:?}").unwrap();
    let mut chat = Chat::new(model)
        .with_streaming(stream)
        .with_request_options(options);
    write!(shown_too, "{chat:?}").unwrap();
    if let Err(error) = chat.ask("hi").await {
        shown_too.push_str(&shown(&error));
    }
    shown_too
}

#[tokio::test]
async fn what_is_planted_appears_nowhere() {
    let log = Log::default();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    let echo = json!({ "error": {
        "message": format!("no {KEY} and no {HEADER} with {TOKEN} at ?key={QUERY}"),
        "type": "authentication_error", "code": KEY,
    } });
    let replies = [
        Reply::json(401, &echo),
        Reply::json(200, &echo),
        Reply::json(500, format!("{KEY} {HEADER} {TOKEN} {QUERY}")),
        Reply::stream([format!("data: {echo}\n\n")]),
        Reply::stream([format!("event: error\ndata: {echo}\n\n")]),
        Reply::json(
            200,
            json!({ "choices": [{ "message": { "content": "hello" } }] }),
        ),
    ];
    let vendors = [
        OpenAi::new(KEY).api(Api::Responses(Dialect::OPENAI)),
        OpenAi::new(KEY),
        Anthropic::new(KEY),
        Gemini::new(KEY),
        Ollama::native().key(KEY),
        Compatible::at("http://localhost").key(KEY),
    ];
    for reply in &replies {
        for vendor in &vendors {
            let mut reply = reply.clone();
            if !runs_servers(&vendor.clone().base_url("http://localhost")) {
                // What it was never told, it cannot quote.
                for chunk in &mut reply.chunks {
                    let text = String::from_utf8(std::mem::take(chunk)).unwrap();
                    *chunk = text.replace(TOKEN, "nothing").into_bytes();
                }
            }
            let server = Server::start([reply]).await;
            let provider = vendor
                .clone()
                .base_url(format!("{}/v1?key={QUERY}", server.address))
                .header("x-own", HEADER)
                .retries(0);
            for stream in [false, true] {
                let shown = ask(&provider, stream).await;
                assert_hidden(&shown, &format!("{vendor:?}"));
                assert!(!server.asked().is_empty(), "{shown}");
            }
        }
    }
    // HTTP/2, whose library logs its frames.
    let server = TlsServer::start(&["h2"], &echo.to_string().replace(TOKEN, "nothing")).await;
    let provider = Compatible::at(format!("https://{}/v1?key={QUERY}", server.address))
        .key(KEY)
        .header("x-own", HEADER)
        .root_certificate(authority())
        .retries(0);
    assert_hidden(&ask(&provider, false).await, "HTTP/2");
    assert_eq!(server.versions(), ["HTTP/2.0"]);

    let logged = log.0.lock().unwrap().clone();
    assert!(logged.contains("h2::"), "frames were logged");
    assert!(
        logged.contains("gen_ai.request.model"),
        "requests were logged"
    );
    assert_hidden(&logged, "the log");
}
