//! P4: a key never appears in what is shown, logged or reported.
#![allow(clippy::unwrap_used)]

mod support;

use std::error::Error;

use serde_json::json;
use support::server::{Reply, Server};
use tool_core::{Chat, ModelError, ModelErrorKind};
use tool_providers::{Compatible, OpenAi, Secret};

const KEY: &str = "sk-proj-aVerySecretKey0123456789";

#[track_caller]
fn assert_hidden(error: &ModelError) {
    let mut shown = format!("{error} {error:?} {error:#?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        shown.push_str(&format!("{error} {error:?}"));
        cause = error.source();
    }
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
