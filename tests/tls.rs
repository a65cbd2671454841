//! P4: TLS with authorities of one's own, and HTTP/2 where a server offers it.
#![allow(clippy::unwrap_used)]

#[path = "support/tls.rs"]
mod tls;

use std::time::Duration;

use serde_json::json;
use tls::{TlsServer, authority};
use tool_core::{Chat, ModelError, ModelErrorKind};
use tool_providers::{Compatible, Provider, Timeouts};

fn answer() -> String {
    json!({ "choices": [{ "message": { "content": "safe" }, "finish_reason": "stop" }] })
        .to_string()
}

fn at(server: &TlsServer) -> Provider {
    Compatible::at(format!("https://{}", server.address)).retries(0)
}

async fn ask(provider: Provider) -> Result<String, ModelError> {
    let asked = Chat::new(provider.model("m")).ask("hi").await;
    asked.map(|turn| turn.text()).map_err(|error| {
        let text = error.model_error().unwrap().to_string();
        ModelError::new(error.model_error().unwrap().kind(), text)
    })
}

#[tokio::test]
async fn a_server_of_an_unknown_authority_is_refused_and_one_of_ones_own_is_not() {
    let server = TlsServer::start(&["http/1.1"], &answer()).await;
    let error = ask(at(&server)).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(
        error.to_string().contains("Provider::root_certificate"),
        "{error}"
    );
    assert!(server.versions().is_empty(), "nothing was sent to it");

    let provider = at(&server).root_certificate(authority());
    assert_eq!(ask(provider.clone()).await.unwrap(), "safe");
    // Several authorities: each is trusted.
    let twice = provider.root_certificate([authority(), authority()].concat());
    assert_eq!(ask(twice).await.unwrap(), "safe");
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let server = TlsServer::start(&["http/1.1"], &answer()).await;
    let port = server.address.rsplit_once(':').unwrap().1;
    let provider = Compatible::at(format!("https://127.0.0.2:{port}")).retries(0);
    let error = ask(provider.root_certificate(authority()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("not valid for name"), "{error}");
    assert!(!error.to_string().contains("root_certificate"), "{error}");
}

#[tokio::test]
async fn what_holds_no_certificate_is_an_error_of_the_first_request() {
    let server = TlsServer::start(&["http/1.1"], &answer()).await;
    let whole = String::from_utf8(authority()).unwrap();
    let broken = whole.replace("MII", "M!!");
    for (pem, what) in [
        ("", "holds none"),
        ("no PEM at all", "holds none"),
        (&whole[..whole.len() / 2], "PEM"),
        (&broken, "valid PEM"),
    ] {
        let error = ask(at(&server).root_certificate(pem)).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    assert!(server.versions().is_empty());
}

#[tokio::test]
async fn http_2_is_spoken_where_it_is_offered() {
    for (offered, spoken) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0"),
        (&["http/1.1"], "HTTP/1.1"),
        (&[], "HTTP/1.1"),
    ] {
        let server = TlsServer::start(offered, &answer()).await;
        let provider = at(&server).root_certificate(authority());
        let chats = (0..4).map(|_| tokio::spawn(ask(provider.clone())));
        for chat in chats.collect::<Vec<_>>() {
            assert_eq!(chat.await.unwrap().unwrap(), "safe");
        }
        assert_eq!(server.versions(), [spoken; 4], "{offered:?}");
    }
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_a_timeout_of_the_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::from_millis(80);
    let provider = Compatible::at(format!("https://{}", listener.local_addr().unwrap()));
    let error = ask(provider.timeouts(timeouts).retries(0))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout, "{error}");
    assert!(
        error.to_string().contains("no connection within 80ms"),
        "{error}"
    );
}
