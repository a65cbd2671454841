//! P4: a server is trusted for its certificate, or it is not talked to.
#![allow(clippy::unwrap_used)]

mod support;

use support::proxy::{Does, Proxy};
use support::server::{Reply, Server};
use support::tls::{AUTHORITY, Http2};
use support::vendors::{all, answer, ask, one, whole};
use tokio::net::TcpListener;
use tool_core::ModelErrorKind;
use tool_providers::Compatible;

#[tokio::test]
async fn an_unknown_authority_is_refused_by_an_error_that_says_what_to_write() {
    let server = Server::start_tls([answer("yes")]).await;
    let error = ask(&Compatible::at(&server.address), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
    for part in ["certificate", "Provider::root_certificate"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // Nothing was asked, and no second attempt was made.
    assert_eq!((server.asked().len(), server.connections()), (0, 1));
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_where_it_is_added() {
    let server = Server::start_tls([answer("yes")]).await;
    let named = server.address.replace("127.0.0.1", "localhost");
    for address in [&server.address, &named] {
        let provider = Compatible::at(address).root_certificate(AUTHORITY);
        assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
        assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    }
    // A connection is kept.
    assert_eq!((server.asked().len(), server.connections()), (4, 2));
}

#[tokio::test]
async fn one_pem_may_hold_several_certificates_and_text_beside_them() {
    let server = Server::start_tls([answer("yes")]).await;
    let twice = [b"An authority:\n", AUTHORITY, AUTHORITY].concat();
    let provider = Compatible::at(&server.address).root_certificate(twice);
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_without_false_advice() {
    let server = Server::start_tls([answer("yes")]).await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at("https://other.example")
        .root_certificate(AUTHORITY)
        .proxy(proxy.authority);
    let error = ask(&provider, false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("not valid for"), "{error}");
    assert!(!error.to_string().contains("root_certificate"), "{error}");
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test]
async fn a_pem_without_a_certificate_is_said_by_the_first_request() {
    let server = Server::start_tls([answer("yes")]).await;
    let text = String::from_utf8(AUTHORITY.to_vec()).unwrap();
    let cut = &text[..text.len() / 2];
    let wrong = text.replace("MII", "AII");
    let key = include_bytes!("fixtures/tls/server.key");
    let cases: [(&[u8], &str); 5] = [
        (b"", "holds none"),
        (b"no certificate", "holds none"),
        (key, "holds none"),
        (cut.as_bytes(), "root certificate"),
        (wrong.as_bytes(), "cannot be read"),
    ];
    for (pem, part) in cases {
        let provider = Compatible::at(&server.address)
            .root_certificate(AUTHORITY)
            .root_certificate(pem);
        let error = ask(&provider, false).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_server_without_tls_is_called_that() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = ask(&Compatible::at(address), false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("http://"), "{error}");
}

#[tokio::test]
async fn http_2_is_spoken_with_a_server_that_offers_it_over_one_connection() {
    let server = Http2::start(200, whole("compatible", "by HTTP/2")).await;
    let provider = Compatible::at(&server.address).root_certificate(AUTHORITY);
    assert_eq!(ask(&provider, false).await.unwrap().text(), "by HTTP/2");
    let both = tokio::join!(ask(&provider, true), ask(&provider, false));
    assert_eq!(both.0.unwrap().text(), "by HTTP/2");
    assert_eq!(both.1.unwrap().text(), "by HTTP/2");
    assert_eq!(server.counted(), (1, 3));
}

#[tokio::test]
async fn every_protocol_is_spoken_over_tls() {
    for (name, _) in all("", "key-0123456789") {
        let server = Server::start_tls([Reply::json(200, whole(name, "yes"))]).await;
        let provider = one(name, &server.address);
        let answer = ask(&provider.root_certificate(AUTHORITY), false).await;
        assert_eq!(answer.unwrap().text(), "yes", "{name}");
    }
}
