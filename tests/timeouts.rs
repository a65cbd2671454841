//! P4: a server that is slow to connect, to answer or to go on is given up, and the error says which limit it was.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use support::proxy::{Does, Proxy};
use support::server::{End, Server};
use support::vendors::{all, answer, ask, ask_with, one, start};
use tokio::net::TcpListener;
use tool_core::{ModelError, ModelErrorKind, RequestOptions};
use tool_providers::{Compatible, Provider, Timeouts};

const SHORT: Duration = Duration::from_millis(150);

/// All limits are out of reach but those that are changed.
fn limits(change: impl FnOnce(&mut Timeouts)) -> Timeouts {
    let mut timeouts = Timeouts::default();
    timeouts.connect = Duration::from_secs(600);
    timeouts.first_byte = Duration::from_secs(600);
    timeouts.silence = Duration::from_secs(600);
    change(&mut timeouts);
    timeouts
}

#[track_caller]
fn assert_says(error: &ModelError, part: &str) {
    assert_eq!(error.kind(), ModelErrorKind::Timeout, "{error}");
    let limit = format!("{SHORT:?}");
    for part in [part, limit.as_str()] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

fn slow_to_connect(provider: Provider) -> Provider {
    let timeouts = limits(|timeouts| timeouts.connect = SHORT);
    provider.timeouts(timeouts).retries(0)
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_no_connection() {
    // The system accepts the connection; nobody speaks.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let error = ask(&slow_to_connect(Compatible::at(address)), false).await;
    assert_says(&error.unwrap_err(), "there was no connection within");
}

#[tokio::test]
async fn a_proxy_that_says_nothing_is_no_connection() {
    for scheme in ["http", "socks5"] {
        let proxy = Proxy::start(Does::Nothing, "").await;
        let provider = Compatible::at("https://model.example")
            .proxy(format!("{scheme}://{}", proxy.authority));
        let error = ask(&slow_to_connect(provider), false).await;
        assert_says(&error.unwrap_err(), "there was no connection within");
    }
}

/// A queue of connections that is full lets no other in.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_accepts_nobody_is_no_connection() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(SHORT, tokio::net::TcpStream::connect(address)).await
    {
        queue.push(stream);
        assert!(queue.len() < 100, "the queue of the system does not fill");
    }
    let provider = Compatible::at(format!("http://{address}"));
    let error = ask(&slow_to_connect(provider), false).await;
    assert_says(&error.unwrap_err(), "there was no connection within");
}

#[tokio::test]
async fn a_server_that_does_not_begin_to_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let timeouts = limits(|timeouts| timeouts.first_byte = SHORT);
    let provider = Compatible::at(address).timeouts(timeouts).retries(0);
    for stream in [false, true] {
        let error = ask(&provider, stream).await.unwrap_err();
        assert_says(&error, "did not answer within");
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up_and_not_asked_for_again() {
    for (name, _) in all("", "") {
        let server = Server::start([start(name, "half").end(End::Silent)]).await;
        let provider =
            one(name, &server.address).timeouts(limits(|timeouts| timeouts.silence = SHORT));
        let (answer, heard) = ask_with(&provider, true, &RequestOptions::new()).await;
        assert_says(&answer.unwrap_err(), "fell silent");
        assert_eq!(
            (heard.as_str(), server.asked().len()),
            ("half", 1),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_stops_before_its_end_is_given_up() {
    let mut half = answer("yes").end(End::Silent);
    half.chunks[0].truncate(20);
    let server = Server::start([half]).await;
    let timeouts = limits(|timeouts| timeouts.silence = SHORT);
    let provider = Compatible::at(&server.address)
        .timeouts(timeouts)
        .retries(0);
    let error = ask(&provider, false).await.unwrap_err();
    assert_says(&error, "fell silent");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn what_was_not_answered_in_time_is_asked_for_again() {
    let server = Server::start([answer("yes")]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let target = server.authority().to_owned();
    tokio::spawn(async move {
        let (_silent, _) = listener.accept().await.unwrap();
        let (mut second, _) = listener.accept().await.unwrap();
        let mut target = tokio::net::TcpStream::connect(target).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut second, &mut target).await;
    });
    let timeouts = limits(|timeouts| timeouts.first_byte = Duration::from_millis(500));
    let provider = Compatible::at(address).timeouts(timeouts).retries(1);
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    assert_eq!(server.asked().len(), 1);
}
