//! P4: every failure of a provider is a typed error with the provider's own words, over real HTTP.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::server::{End, Reply, Server};
use tool_core::model::{Delta, Model, Request};
use tool_core::{
    AssistantMessage, Message, ModelError, ModelErrorKind, RequestOptions, ToolChoice, ToolSet,
    Transcript,
};
use tool_providers::protocol::parse_error;
use tool_providers::{Compatible, Provider, Timeouts};

async fn ask(provider: Provider, stream: bool) -> (Result<AssistantMessage, ModelError>, String) {
    let transcript: Transcript = [Message::User("hi".into())].into_iter().collect();
    let (tools, choice, options) = (ToolSet::new(), ToolChoice::Auto, RequestOptions::new());
    let request = Request::new(&transcript, &tools, &choice, &options).with_stream(stream);
    let mut heard = String::new();
    let mut sink = |delta: &Delta<'_>| {
        if let Delta::Text(text) = delta {
            heard.push_str(text);
        }
    };
    let model = provider.model("m");
    let answer = model.generate(request, &mut sink).await;
    (answer, heard)
}

fn at(server: &Server) -> Provider {
    Compatible::at(&server.address)
}

fn answer() -> Reply {
    Reply::json(
        200,
        json!({ "choices": [{ "message": { "content": "yes" }, "finish_reason": "stop" }] }),
    )
}

fn chunk(text: &str, finish: Option<&str>) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": finish }] });
    format!("data: {chunk}\n\n")
}

#[test]
fn each_shape_and_status_has_its_kind_and_keeps_the_message() {
    use ModelErrorKind::*;
    let openai = |code: &str, message: &str| json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } });
    let cases: Vec<(u16, Value, ModelErrorKind, &str)> = vec![
        (
            401,
            openai("invalid_api_key", "Incorrect API key"),
            Auth,
            "Incorrect API key",
        ),
        (
            400,
            openai("context_length_exceeded", "Too long"),
            ContextLength,
            "Too long",
        ),
        (
            400,
            openai("x", "This model's maximum context length is 8192 tokens"),
            ContextLength,
            "This model's maximum context length is 8192 tokens",
        ),
        (
            400,
            openai("x", "Unknown parameter"),
            BadRequest,
            "Unknown parameter",
        ),
        (
            404,
            openai("model_not_found", "No such model"),
            BadRequest,
            "No such model",
        ),
        (
            429,
            openai("insufficient_quota", "You exceeded your current quota"),
            Quota,
            "You exceeded your current quota",
        ),
        (
            429,
            openai("rate_limit_exceeded", "Slow down"),
            RateLimit,
            "Slow down",
        ),
        (
            402,
            json!({ "error": { "message": "Insufficient credits", "code": 402 } }),
            Quota,
            "Insufficient credits",
        ),
        // A bad key as a bad request.
        (
            400,
            json!({ "code": "Client specified an invalid argument", "error": "Incorrect API key provided: xx." }),
            Auth,
            "Incorrect API key provided: xx.",
        ),
        (
            400,
            json!([{ "error": { "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [{ "reason": "API_KEY_INVALID" }] } }]),
            Auth,
            "API key not valid.",
        ),
        (
            429,
            json!({ "error": { "code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details": [{ "violations": [{ "quotaId": "GenerateRequestsPerDayPerProject" }] }] } }),
            Quota,
            "Quota",
        ),
        (
            401,
            json!({ "detail": "Unauthorized" }),
            Auth,
            "Unauthorized",
        ),
        (
            422,
            json!({ "detail": [{ "loc": ["body"], "msg": "Field required" }] }),
            BadRequest,
            "Field required",
        ),
        (
            422,
            json!({ "object": "error", "message": { "detail": [{ "msg": "Bad role" }] } }),
            BadRequest,
            "Bad role",
        ),
        (
            400,
            json!({ "object": "error", "message": "Bad id", "type": "invalid_request_error" }),
            BadRequest,
            "Bad id",
        ),
        (
            400,
            json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": { "raw": "no tools" } } }),
            BadRequest,
            "Provider returned error: no tools",
        ),
        (
            400,
            json!({ "error": { "code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error" } }),
            ContextLength,
            "the request exceeds the available context size",
        ),
        (
            500,
            json!({ "error": "model runner crashed" }),
            Server,
            "model runner crashed",
        ),
        (
            503,
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            Overloaded,
            "Overloaded",
        ),
        (
            529,
            json!({ "error": { "message": "Overloaded" } }),
            Overloaded,
            "Overloaded",
        ),
        (408, json!({}), Timeout, "{}"),
        (
            409,
            json!({ "error": { "message": "Conflict" } }),
            Server,
            "Conflict",
        ),
    ];
    for (status, body, kind, message) in cases {
        let error = parse_error(status, body.to_string().as_bytes());
        assert_eq!(
            (error.kind(), error.message()),
            (kind, message),
            "{status} {body}"
        );
        assert_eq!(error.status(), Some(status));
    }
    let error = parse_error(502, b"<html>Bad gateway</html>");
    assert_eq!(error.message(), "<html>Bad gateway</html>");
    let error = parse_error(503, b"");
    assert!(error.message().contains("503"), "{error}");
}

#[test]
fn a_wait_can_be_asked_for_in_the_body() {
    let asked = |body: Value| parse_error(429, body.to_string().as_bytes()).retry_after();
    let info = json!({ "error": { "message": "x", "details": [{ "@type": "RetryInfo", "retryDelay": "48.9s" }] } });
    assert_eq!(asked(info), Some(Duration::from_secs_f64(48.9)));
    let text =
        json!({ "error": { "message": "Rate limit reached. Please try again in 430ms. Visit …" } });
    assert_eq!(asked(text), Some(Duration::from_millis(430)));
    let text = json!({ "error": { "message": "Please retry in 7.5s." } });
    assert_eq!(asked(text), Some(Duration::from_secs_f64(7.5)));
}

#[tokio::test]
async fn an_error_tells_the_request_id_and_who_it_was() {
    let body = json!({ "error": { "message": "Bad" } });
    let server = Server::start([Reply::json(400, body).header("x-request-id", "req_7")]).await;
    let error = ask(at(&server), false).await.0.unwrap_err();
    assert_eq!(
        error.to_string(),
        "compatible: Bad (status 400, request req_7)"
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn what_may_pass_is_tried_again_after_the_time_that_was_asked_for() {
    let busy =
        Reply::json(429, json!({ "error": { "message": "slow" } })).header("retry-after-ms", "60");
    let server = Server::start([busy.clone(), busy, answer()]).await;
    let started = Instant::now();
    assert_eq!(ask(at(&server), false).await.0.unwrap().text(), "yes");
    assert!(started.elapsed() >= Duration::from_millis(120));
    assert_eq!(server.asked().len(), 3);
    let bodies: Vec<_> = server.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies[0], bodies[2]);
}

#[tokio::test]
async fn retries_can_be_turned_off_and_a_long_wait_is_not_waited() {
    let busy = |wait| {
        Reply::json(503, json!({ "error": { "message": "busy" } })).header("retry-after", wait)
    };
    let server = Server::start([busy("1")]).await;
    assert_eq!(
        ask(at(&server).retries(0), false)
            .await
            .0
            .unwrap_err()
            .kind(),
        ModelErrorKind::Server
    );
    assert_eq!(server.asked().len(), 1);
    let server = Server::start([busy("3600")]).await;
    let error = ask(at(&server), false).await.0.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_after_a_piece_is_an_error_and_is_not_asked_for_again() {
    for (end, kind) in [
        (End::Broken, ModelErrorKind::Network),
        (End::Whole, ModelErrorKind::Decoding),
    ] {
        let server = Server::start([Reply::stream([chunk("half", None)]).end(end)]).await;
        let (answer, heard) = ask(at(&server), true).await;
        assert_eq!((answer.unwrap_err().kind(), heard.as_str()), (kind, "half"));
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_first_piece_is_asked_for_again() {
    let broken = Reply::stream([": PROCESSING\n\n"]).end(End::Broken);
    let whole = Reply::stream([chunk("yes", Some("stop")), "data: [DONE]\n\n".into()]);
    let server = Server::start([broken, whole]).await;
    let (answer, heard) = ask(at(&server), true).await;
    assert_eq!(
        (answer.unwrap().text(), heard),
        ("yes".to_owned(), "yes".to_owned())
    );
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn an_error_inside_of_a_stream_is_that_error() {
    let error = "data: {\"error\":{\"code\":503,\"message\":\"No capacity\"}}\n\n";
    let server = Server::start([Reply::stream([chunk("half", None), error.into()])]).await;
    let error = ask(at(&server), true).await.0.unwrap_err();
    assert_eq!(
        (error.kind(), error.message(), error.status()),
        (ModelErrorKind::Server, "No capacity", Some(503))
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn an_error_in_a_body_that_says_200_is_that_error() {
    let reply = Reply::json(
        200,
        json!({ "error": { "code": 401, "message": "User not found" } }),
    );
    for stream in [false, true] {
        let server = Server::start([reply.clone()]).await;
        assert_eq!(
            ask(at(&server), stream).await.0.unwrap_err().kind(),
            ModelErrorKind::Auth
        );
    }
}

#[tokio::test]
async fn a_body_is_read_for_what_it_is_whatever_its_header_says() {
    let mut json = answer();
    json.headers[0].1 = "application/octet-stream".into();
    let server = Server::start([json]).await;
    assert_eq!(ask(at(&server), true).await.0.unwrap().text(), "yes");
    assert_eq!(ask(at(&server), false).await.0.unwrap().text(), "yes");
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let mut timeouts = Timeouts::default();
    timeouts.silence = Duration::from_millis(80);
    let server = Server::start([Reply::stream([chunk("half", None)]).end(End::Silent)]).await;
    let error = ask(at(&server).timeouts(timeouts), true)
        .await
        .0
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);

    // A slow stream is not a silent one.
    let words = (0..8)
        .map(|_| chunk("x", None))
        .chain([chunk("", Some("stop"))]);
    let slow = Reply::stream(words).pause(Duration::from_millis(30));
    let server = Server::start([slow]).await;
    assert_eq!(
        ask(at(&server).timeouts(timeouts), true)
            .await
            .0
            .unwrap()
            .text(),
        "xxxxxxxx"
    );
}

#[tokio::test]
async fn no_answer_at_all_is_a_timeout_and_no_server_a_network_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut timeouts = Timeouts::default();
    timeouts.first_byte = Duration::from_millis(50);
    let provider = Compatible::at(&address).timeouts(timeouts).retries(0);
    let error = ask(provider.clone(), false).await.0.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
    drop(listener);
    let error = ask(Compatible::at(&address).retries(0), false)
        .await
        .0
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Network);
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let reply = Reply::json(307, "").header("location", "http://elsewhere.example/v1");
    let server = Server::start([reply]).await;
    let error = ask(at(&server).key("secret-key"), false)
        .await
        .0
        .unwrap_err();
    assert!(
        error.to_string().contains("http://elsewhere.example/v1"),
        "{error}"
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn one_connection_serves_one_request_after_the_other() {
    let stream = Reply::stream([chunk("yes", Some("stop")), "data: [DONE]\n\n".into()]);
    let server = Server::start([answer(), stream.clone(), stream, answer()]).await;
    let provider = at(&server);
    for stream in [false, true, true, false] {
        ask(provider.clone(), stream).await.0.unwrap();
    }
    let mut chat = tool_core::Chat::new(provider.model("other"));
    chat.ask("hi").await.map(drop).unwrap();
    assert_eq!((server.asked().len(), server.connections()), (5, 1));
}

#[tokio::test]
async fn addresses_are_read_with_and_without_slash_and_version() {
    let server = Server::start([answer()]).await;
    for suffix in ["", "/", "/v1", "/v1/", "/v1/chat/completions"] {
        ask(Compatible::at(format!("{}{suffix}", server.address)), false)
            .await
            .0
            .unwrap();
    }
    ask(
        Compatible::at(format!("{}/api/openai?version=7", server.address)),
        false,
    )
    .await
    .0
    .unwrap();
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    assert!(
        lines[..5]
            .iter()
            .all(|line| line == "POST /v1/chat/completions HTTP/1.1"),
        "{lines:?}"
    );
    assert_eq!(
        lines[5],
        "POST /api/openai/chat/completions?version=7 HTTP/1.1"
    );
    for bad in ["", "ftp://x", "http://", "http://a b"] {
        let error = ask(Compatible::at(bad), false).await.0.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration, "{bad}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_called_by_its_name_p4() {
    let page = |kind: &str| Reply::json(200, "<html><body>Please log in</body></html>").kind(kind);
    let spaced = || {
        let body =
            json!({ "choices": [{ "message": { "content": "yes" }, "finish_reason": "stop" }] });
        let chunks = ["  \n".to_owned(), body.to_string()];
        Reply::stream(chunks).kind("application/octet-stream")
    };
    for stream in [true, false] {
        let server = Server::start([page("text/html")]).await;
        let error = ask(at(&server), stream).await.0.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Decoding);
        for part in ["text/html", "Please log in"] {
            assert!(error.message().contains(part), "{error}");
        }
        let server = Server::start([spaced()]).await;
        assert_eq!(ask(at(&server), stream).await.0.unwrap().text(), "yes");
    }
    let event = "event: error\ndata: {\"message\":\"bad thing\",\"type\":\"server_error\"}\n\n";
    let server = Server::start([Reply::stream([event])]).await;
    let error = ask(at(&server).retries(0), true).await.0.unwrap_err();
    assert!(error.message().contains("bad thing"), "{error}");
}

#[tokio::test]
async fn the_list_of_models_is_asked_for_again_while_a_server_starts_p4() {
    let loading = Reply::json(503, json!({ "error": { "message": "Loading model" } }))
        .header("retry-after-ms", "1");
    let listed = Reply::json(200, json!({ "data": [{ "id": "local" }] }));
    let server = Server::start([loading, listed, answer()]).await;
    let model = at(&server).first_model();
    let mut chat = tool_core::Chat::new(model);
    assert_eq!(chat.ask("hi").await.unwrap().text(), "yes");
    assert_eq!(server.asked()[2].json()["model"], "local");
}
