//! P4: every protocol reports what failed by its kind, tries again what may pass, and never after a piece was delivered.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::chat::{set, tool};
use support::server::{End, Reply, Server};
use support::vendors::{all, answer, ask, ask_with, one, start, whole};
use tool_core::ModelErrorKind::{self, *};
use tool_core::{Chat, Message, RequestOptions};
use tool_providers::{Compatible, Provider};

/// An error as the protocol writes it. `word` names the kind of the error, where there is such a word.
fn error(protocol: &str, status: u16, word: &str, message: &str) -> Value {
    match protocol {
        "compatible" | "responses" => {
            json!({ "error": { "message": message, "type": word, "param": null, "code": word } })
        }
        "anthropic" => json!({
            "type": "error", "error": { "type": word, "message": message }, "request_id": "req_body"
        }),
        "gemini" => {
            json!({ "error": { "code": status, "message": message, "status": word, "details": [] } })
        }
        _ => json!({ "error": message }),
    }
}

/// A failure of each kind: the status, what names it in each protocol, the message.
const FAILURES: [(u16, &str, &str, &str, &str, ModelErrorKind); 17] = [
    (
        400,
        "invalid_request_error",
        "invalid_request_error",
        "INVALID_ARGUMENT",
        "bad role",
        BadRequest,
    ),
    (
        400,
        "x",
        "invalid_request_error",
        "INVALID_ARGUMENT",
        "prompt is too long: 9 tokens > 8 maximum",
        ContextLength,
    ),
    (
        400,
        "x",
        "invalid_request_error",
        "INVALID_ARGUMENT",
        "The input token count exceeds the maximum",
        ContextLength,
    ),
    (
        413,
        "x",
        "request_too_large",
        "x",
        "Request exceeds the maximum size",
        BadRequest,
    ),
    (
        401,
        "invalid_api_key",
        "authentication_error",
        "UNAUTHENTICATED",
        "no such key",
        Auth,
    ),
    (
        403,
        "x",
        "permission_error",
        "PERMISSION_DENIED",
        "not for you",
        Auth,
    ),
    (402, "x", "billing_error", "x", "no money", Quota),
    (
        404,
        "model_not_found",
        "not_found_error",
        "NOT_FOUND",
        "no such model",
        BadRequest,
    ),
    (422, "x", "x", "x", "cannot be processed", BadRequest),
    (408, "x", "timeout_error", "x", "too slow", Timeout),
    (409, "x", "x", "ABORTED", "conflict", Server),
    (
        429,
        "rate_limit_exceeded",
        "rate_limit_error",
        "RESOURCE_EXHAUSTED",
        "slow down",
        RateLimit,
    ),
    (
        500,
        "server_error",
        "api_error",
        "INTERNAL",
        "it broke",
        Server,
    ),
    (502, "x", "x", "x", "bad gateway", Server),
    (503, "x", "x", "UNAVAILABLE", "at capacity", Server),
    (
        504,
        "x",
        "timeout_error",
        "DEADLINE_EXCEEDED",
        "gateway timeout",
        Server,
    ),
    (529, "x", "overloaded_error", "x", "busy", Overloaded),
];

#[tokio::test]
async fn each_kind_is_told_and_tried_again_where_it_may_pass_p4() {
    for (name, _) in all("", "") {
        for (status, openai, anthropic, gemini, message, kind) in FAILURES {
            let word = match name {
                "anthropic" => anthropic,
                "gemini" => gemini,
                _ => openai,
            };
            let body = error(name, status, word, message);
            let failure = Reply::json(status, body)
                .header("retry-after-ms", "1")
                .header("x-request-id", "req_head");
            let success = Reply::json(200, whole(name, "yes"));
            let server = Server::start([failure.clone(), failure, success]).await;
            let provider = one(name, &server.address);
            let told = ask(&provider.clone().retries(0), true).await.unwrap_err();
            let case = format!("{name} {status}: {told:?}");
            assert_eq!((told.kind(), told.message()), (kind, message), "{case}");
            assert_eq!(told.status(), Some(status), "{case}");
            assert_eq!(told.request_id(), Some("req_head"), "{case}");
            let again = ask(&provider.retries(1), false).await;
            match kind.is_retryable() {
                true => assert_eq!(again.unwrap().text(), "yes", "{case}"),
                false => assert_eq!(again.unwrap_err().kind(), kind, "{case}"),
            }
            let count = if kind.is_retryable() { 3 } else { 2 };
            assert_eq!(server.asked().len(), count, "{case}");
        }
    }
}

/// Kinds that only the body tells from others of its status.
#[tokio::test]
async fn a_quota_is_no_rate_limit_and_a_bad_key_no_bad_request_p4() {
    let spent = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "x",
        "details": { "error_code": "enforced_spend_limit_reached" } } });
    let day = json!([{ "error": { "code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED", "details": [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
            { "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier" } ] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s" } ] } }]);
    let minute = json!({ "error": { "code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED", "details": [
        { "violations": [{ "quotaId": "GenerateRequestsPerMinutePerProjectPerModel" }] } ] } });
    let key = json!({ "error": { "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }] } });
    let azure = json!({ "error": { "code": "RateLimitReached", "message": "x", "details": "y" } });
    let raw = json!({ "error": { "message": "Provider returned error", "code": 429,
        "metadata": { "raw": "slow down" } } });
    let cases = [
        (
            "compatible",
            429,
            error("compatible", 429, "insufficient_quota", "x"),
            Quota,
        ),
        (
            "responses",
            429,
            error("responses", 429, "insufficient_quota", "x"),
            Quota,
        ),
        ("anthropic", 429, spent, Quota),
        ("gemini", 429, day, Quota),
        ("gemini", 429, minute, RateLimit),
        ("gemini", 400, key, Auth),
        (
            "compatible",
            400,
            json!({ "code": "x", "error": "Incorrect API key provided: x" }),
            Auth,
        ),
        ("compatible", 429, azure, RateLimit),
        ("compatible", 429, raw, RateLimit),
        ("compatible", 401, json!({ "detail": "Unauthorized" }), Auth),
        (
            "compatible",
            400,
            json!({ "object": "error", "message": "x" }),
            BadRequest,
        ),
    ];
    for (name, status, body, kind) in cases {
        // The type of the content may lie.
        let reply = Reply::json(status, &body).kind("application/octet-stream");
        let server = Server::start([reply]).await;
        let provider = one(name, &server.address).retries(0);
        let error = ask(&provider, false).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name} {body}");
    }
}

#[tokio::test]
async fn how_long_to_wait_is_told_by_headers_before_the_body_p4() {
    let info = json!({ "error": { "code": 429, "message": "x", "details": [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48.9s" } ] } });
    let reply = |headers: &[(&str, &str)]| {
        let bare = Reply::json(429, &info);
        headers
            .iter()
            .fold(bare, |reply, (name, value)| reply.header(name, value))
    };
    let date = SystemTime::now() + Duration::from_secs(40);
    let date = httpdate(date);
    let cases = [
        (reply(&[]), 48.9, 48.9),
        (reply(&[("retry-after", "7")]), 7.0, 7.0),
        (reply(&[("retry-after", "2.5")]), 2.5, 2.5),
        (
            reply(&[("retry-after-ms", "1500"), ("retry-after", "7")]),
            1.5,
            1.5,
        ),
        (
            reply(&[("retry-after-ms", "0"), ("retry-after", "7")]),
            7.0,
            7.0,
        ),
        (reply(&[("retry-after", &date)]), 20.0, 40.0),
    ];
    for (reply, least, most) in cases {
        let server = Server::start([reply.clone()]).await;
        let provider = one("gemini", &server.address).retries(0);
        let error = ask(&provider, true).await.unwrap_err();
        let wait = error.retry_after().unwrap().as_secs_f64();
        assert!(
            (least..=most).contains(&wait),
            "{wait} after {:?}",
            reply.headers
        );
    }
}

/// A date as HTTP writes it.
fn httpdate(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap();
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    printer.timestamp_to_rfc9110_string(&time).unwrap()
}

#[tokio::test]
async fn the_server_says_whether_to_try_again_p4() {
    let reply = |status, should| Reply::json(status, "{}").header("x-should-retry", should);
    for (reply, count) in [(reply(503, "false"), 1), (reply(400, "true"), 2)] {
        let reply = reply.header("retry-after-ms", "1");
        let server = Server::start([reply, answer("yes")]).await;
        let provider = Compatible::at(&server.address).retries(1);
        assert_eq!(ask(&provider, false).await.is_ok(), count == 2);
        assert_eq!(server.asked().len(), count);
    }
}

/// An error that comes in a stream that began with status 200.
fn event(protocol: &str, message: &str) -> (Vec<u8>, ModelErrorKind) {
    let (text, kind) = match protocol {
        "compatible" => (error(protocol, 0, "overloaded", message), Overloaded),
        "responses" => (
            json!({ "type": "response.failed", "response": { "status": "failed",
                "error": { "code": "rate_limit_exceeded", "message": message } } }),
            RateLimit,
        ),
        "anthropic" => (error(protocol, 0, "overloaded_error", message), Overloaded),
        "gemini" => (error(protocol, 503, "UNAVAILABLE", message), Server),
        _ => (error(protocol, 0, "", message), Server),
    };
    let text = match protocol {
        "anthropic" => format!("event: error\ndata: {text}\n\n"),
        "ollama" => format!("{text}\n"),
        _ => format!("data: {text}\n\n"),
    };
    (text.into_bytes(), kind)
}

async fn heard(provider: &Provider) -> (Option<ModelErrorKind>, String) {
    let (answer, heard) = ask_with(provider, true, &RequestOptions::new()).await;
    (answer.err().map(|error| error.kind()), heard)
}

#[tokio::test]
async fn an_error_in_a_stream_is_tried_again_only_if_nothing_was_delivered_p4() {
    for (name, _) in all("", "") {
        let (event, kind) = event(name, "Please try again in 1ms.");
        let mut late = start(name, "half");
        late.chunks.push(event.clone());
        let server = Server::start([late]).await;
        let provider = one(name, &server.address);
        assert_eq!(
            heard(&provider).await,
            (Some(kind), "half".into()),
            "{name}"
        );
        assert_eq!(server.asked().len(), 1, "{name}");

        // That it began and by which model is not yet a piece of an answer.
        let mut early = start(name, "half");
        early.chunks.truncate(match name {
            "responses" | "anthropic" => 1,
            _ => 0,
        });
        early.chunks.push(event);
        let success = Reply::json(200, whole(name, "yes"));
        let server = Server::start([early, success]).await;
        let provider = one(name, &server.address);
        assert_eq!(heard(&provider).await, (None, "yes".into()), "{name}");
        assert_eq!(server.asked().len(), 2, "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_or_breaks_is_no_short_answer_p4() {
    for (name, _) in all("", "") {
        for (end, kind) in [(End::Whole, Decoding), (End::Broken, Network)] {
            let server = Server::start([start(name, "half").end(end)]).await;
            let provider = one(name, &server.address);
            assert_eq!(
                heard(&provider).await,
                (Some(kind), "half".into()),
                "{name}"
            );
            assert_eq!(server.asked().len(), 1, "{name}");
        }
    }
}

/// The start of a stream that calls the tool `save`: half of the call, or all of it where a protocol
/// does not send halves.
fn half_a_call(protocol: &str) -> Reply {
    let events = match protocol {
        "compatible" => vec![
            json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{
            "index": 0, "id": "call_1", "function": { "name": "save", "arguments": "{\"a\":" }
        }] } }] }),
        ],
        "responses" => vec![
            json!({ "type": "response.output_item.added", "output_index": 0, "item": {
                "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "save", "arguments": ""
            } }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 0,
                "item_id": "fc_1", "delta": "{\"a\":" }),
        ],
        "anthropic" => vec![
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": {
                "type": "tool_use", "id": "toolu_1", "name": "save", "input": {}
            } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": {
                "type": "input_json_delta", "partial_json": "{\"a\":"
            } }),
        ],
        "gemini" => vec![
            json!({ "candidates": [{ "content": { "role": "model", "parts": [
            { "functionCall": { "name": "save", "args": {} } }
        ] } }] }),
        ],
        _ => vec![
            json!({ "done": false, "message": { "role": "assistant", "content": "",
            "tool_calls": [{ "function": { "name": "save", "arguments": {} } }] } }),
        ],
    };
    let mut reply = start(protocol, "");
    let written = events.into_iter().map(|event| match protocol {
        "ollama" => format!("{event}\n").into_bytes(),
        _ => format!("data: {event}\n\n").into_bytes(),
    });
    reply.chunks = written.collect();
    reply
}

#[tokio::test]
async fn a_call_of_a_stream_that_breaks_is_never_run_p4() {
    for (name, _) in all("", "") {
        for end in [End::Whole, End::Broken] {
            let server = Server::start([half_a_call(name).end(end)]).await;
            let runs = Arc::new(AtomicUsize::new(0));
            let count = runs.clone();
            let save = tool("save", move || {
                count.fetch_add(1, Ordering::SeqCst);
                async { Ok("saved".into()) }
            });
            let mut chat = Chat::new(one(name, &server.address).model("m"))
                .with_streaming(true)
                .with_tools(set([save]));
            chat.ask("hi").await.unwrap_err();
            assert_eq!(runs.load(Ordering::SeqCst), 0, "{name}");
            assert_eq!(server.asked().len(), 1, "{name}");
            let asked = matches!(chat.messages().last(), Some(Message::User(_)));
            assert!(asked, "{name}: {:?}", chat.messages());
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_of_decoding_p4() {
    for (name, _) in all("", "") {
        for body in [
            "{",
            "[]",
            "{}",
            "{\"choices\":3,\"output\":3,\"content\":3,\"candidates\":3,\"message\":3}",
        ] {
            let server = Server::start([Reply::json(200, body)]).await;
            let error = ask(&one(name, &server.address), false).await.unwrap_err();
            assert_eq!(error.kind(), Decoding, "{name} {body}: {error}");
            assert_eq!(server.asked().len(), 1, "{name} {body}");
        }
    }
}

/// What Anthropic and OpenAI call their errors, where no status tells.
#[test]
fn the_words_of_an_error_in_a_stream_tell_its_kind_p4() {
    for (word, kind) in [
        ("invalid_request_error", BadRequest),
        ("authentication_error", Auth),
        ("billing_error", Quota),
        ("permission_error", Auth),
        ("not_found_error", BadRequest),
        ("request_too_large", BadRequest),
        ("rate_limit_error", RateLimit),
        ("timeout_error", Timeout),
        ("api_error", Server),
        ("overloaded_error", Overloaded),
        ("server_error", Server),
        ("rate_limit_exceeded", RateLimit),
        ("insufficient_quota", Quota),
        ("invalid_prompt", BadRequest),
        ("invalid_api_key", Auth),
        ("context_length_exceeded", ContextLength),
    ] {
        let event = json!({ "type": "error", "error": { "type": word, "message": "x" } });
        let error = tool_providers::protocol::parse_error_event(event.to_string().as_bytes());
        assert_eq!(error.kind(), kind, "{word}");
        let event = json!({ "type": "error", "code": word, "message": "x" });
        let error = tool_providers::protocol::parse_error_event(event.to_string().as_bytes());
        assert_eq!(error.kind(), kind, "{word}");
    }
}
