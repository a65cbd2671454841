//! P4: a proxy is used where it is named, and its login is never shown.
#![allow(clippy::unwrap_used)]

mod support;

use std::error::Error;
use std::path::Path;
use std::process::Command;

use support::proxy::{Does, Proxy};
use support::server::Server;
use support::tls::AUTHORITY;
use support::vendors::{answer, ask};
use tool_core::{ModelError, ModelErrorKind};
use tool_providers::{Compatible, Provider};

const PASSWORD: &str = "p%40ss-0123456789";

/// What the password is, and how it stands in a header with its user.
const PLAIN: &str = "p@ss-0123456789";
const ENCODED: &str = "YWxhZGRpbjpwQHNzLTAxMjM0NTY3ODk=";

/// What only a proxy can find.
const FAR: &str = "model.example";

fn with_login(proxy: &Proxy) -> String {
    format!("http://aladdin:{PASSWORD}@{}", proxy.authority)
}

#[track_caller]
fn assert_hidden(shown: &str) {
    for secret in [PASSWORD, PLAIN, ENCODED] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
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

#[tokio::test]
async fn a_server_with_tls_is_reached_through_a_tunnel() {
    let server = Server::start_tls([answer("yes")]).await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at(format!("https://{FAR}"))
        .key("key-of-the-server")
        .root_certificate(AUTHORITY)
        .proxy(format!("http://{}", proxy.authority));
    for _ in 0..2 {
        assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    }
    // One tunnel for both; the proxy reads nothing of what goes through it.
    let asked = proxy.asked();
    assert_eq!(asked.len(), 1);
    assert!(
        asked[0].starts_with("CONNECT model.example:443 HTTP/1.1\r\n"),
        "{asked:?}"
    );
    assert!(!asked[0].to_lowercase().contains("authorization"));
    let sent = &server.asked()[0];
    assert_eq!(sent.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(sent.header("host"), Some(FAR));
}

#[tokio::test]
async fn a_server_without_tls_is_reached_by_requests_to_the_proxy() {
    let server = Server::start([answer("yes")]).await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at(format!("http://{FAR}/api?version=7"))
        .proxy(format!("http://{}", proxy.authority));
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    let asked = &server.asked()[0];
    assert_eq!(
        asked.line,
        "POST http://model.example/api/chat/completions?version=7 HTTP/1.1"
    );
    assert_eq!(asked.header("host"), Some(FAR));
    assert_eq!(asked.header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_proxy_may_be_named_without_a_scheme_and_stand_before_this_machine() {
    let server = Server::start([answer("yes")]).await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at("http://127.0.0.1:9").proxy(proxy.authority.as_str());
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    assert_eq!(proxy.asked().len(), 1);
}

#[tokio::test]
async fn a_proxy_may_speak_tls() {
    let server = Server::start_tls([answer("yes")]).await;
    let proxy = Proxy::start(Does::Https, server.authority()).await;
    let provider =
        Compatible::at(format!("https://{FAR}")).proxy(format!("https://{}", proxy.authority));
    let error = ask(&provider, false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
    let provider = provider.root_certificate(AUTHORITY);
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    assert!(proxy.asked()[0].starts_with("CONNECT "));

    let server = Server::start([answer("yes")]).await;
    let proxy = Proxy::start(Does::Https, server.authority()).await;
    let provider = Compatible::at(format!("http://{FAR}"))
        .root_certificate(AUTHORITY)
        .proxy(format!("https://{}", proxy.authority));
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    let line = &server.asked()[0].line;
    assert!(line.starts_with("POST http://model.example/v1/"), "{line}");
}

#[tokio::test]
async fn a_login_is_shown_to_the_proxy_and_to_nobody_else() {
    let expected = format!("Basic {ENCODED}");
    let server = Server::start_tls([answer("yes")]).await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at(format!("https://{FAR}"))
        .root_certificate(AUTHORITY)
        .proxy(with_login(&proxy));
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    assert!(
        proxy.asked()[0].contains(&format!("Proxy-Authorization: {expected}")),
        "{:?}",
        proxy.asked()
    );
    assert_eq!(server.asked()[0].header("proxy-authorization"), None);
    assert_hidden(&format!("{provider:?} {:?}", provider.model("m")));

    let server = Server::start([answer("yes")]).await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at(format!("http://{FAR}")).proxy(with_login(&proxy));
    assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
    let shown = server.asked()[0]
        .header("proxy-authorization")
        .map(str::to_owned);
    assert_eq!(shown, Some(expected));
}

#[tokio::test]
async fn the_login_of_a_proxy_is_in_no_recording_and_no_error() {
    let said = format!("{PLAIN} {PASSWORD} {ENCODED}");
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("proxies-{}.json", std::process::id()));
    let server = Server::start([
        answer(&said),
        support::server::Reply::json(400, format!("{{\"error\":\"no {said}\"}}")),
    ])
    .await;
    let proxy = Proxy::start(Does::Http, server.authority()).await;
    let provider = Compatible::at(format!("http://{FAR}"))
        .proxy(with_login(&proxy))
        .record_to(&path);
    assert_eq!(ask(&provider, false).await.unwrap().text(), said);
    let error = ask(&provider, false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::BadRequest);
    assert_hidden(&all_of(&error));
    let recorded = std::fs::read_to_string(path).unwrap();
    assert!(recorded.contains("[hidden: password of the proxy"));
    assert_hidden(&recorded);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_and_what_it_wants_is_said() {
    let cases = [
        (407, ModelErrorKind::Auth, "http://user:password@"),
        (403, ModelErrorKind::Network, "the proxy refused to connect"),
    ];
    for (status, kind, part) in cases {
        let proxy = Proxy::start(Does::Refuses(status), "").await;
        let provider = Compatible::at(format!("https://{FAR}"))
            .proxy(with_login(&proxy))
            .retries(0);
        let error = ask(&provider, false).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        for part in [
            part,
            &format!("through the proxy http://{}", proxy.authority),
        ] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        assert_hidden(&all_of(&error));
    }
    // What it says to a request is what a server would say.
    let proxy = Proxy::start(Does::Refuses(407), "").await;
    let provider = Compatible::at(format!("http://{FAR}")).proxy(with_login(&proxy));
    let error = ask(&provider, false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Auth);
    assert_eq!(error.status(), Some(407));
    assert!(error.message().contains("the proxy asks for a login"));
    assert!(error.message().contains("said by the proxy"));
    assert_eq!(proxy.asked().len(), 1);
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_a_network_error_that_names_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!(
        "http://aladdin:{PASSWORD}@{}",
        listener.local_addr().unwrap()
    );
    let name = format!("the proxy http://{}", listener.local_addr().unwrap());
    drop(listener);
    for scheme in ["http", "https"] {
        let provider = Compatible::at(format!("{scheme}://{FAR}")).proxy(proxy.as_str());
        let error = ask(&provider.retries(0), false).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Network);
        assert!(error.to_string().contains(&name), "{error}");
        assert!(error.to_string().contains("refused"), "{error}");
        assert_hidden(&all_of(&error));
    }
}

#[tokio::test]
async fn socks_proxies_look_the_name_up_and_get_the_login() {
    let cases = [
        ("socks5", Does::Socks, ""),
        (
            "socks5h",
            Does::SocksWithLogin,
            " as aladdin p@ss-0123456789",
        ),
    ];
    for (scheme, does, login) in cases {
        let server = Server::start_tls([answer("yes")]).await;
        let proxy = Proxy::start(does, server.authority()).await;
        let address = match login {
            "" => format!("{scheme}://{}", proxy.authority),
            _ => format!("{scheme}://aladdin:{PASSWORD}@{}", proxy.authority),
        };
        let provider = Compatible::at(format!("https://{FAR}"))
            .root_certificate(AUTHORITY)
            .proxy(address.as_str());
        assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
        assert_eq!(proxy.asked(), [format!("{FAR}:443{login}")]);

        let server = Server::start([answer("yes")]).await;
        let proxy = Proxy::start(does, server.authority()).await;
        let address = address.rsplit_once(['@', '/']).unwrap().0.to_owned();
        let end = if login.is_empty() { "/" } else { "@" };
        let provider = Compatible::at(format!("http://{FAR}:81"))
            .proxy(format!("{address}{end}{}", proxy.authority));
        assert_eq!(ask(&provider, false).await.unwrap().text(), "yes");
        assert_eq!(proxy.asked(), [format!("{FAR}:81{login}")]);
        let line = &server.asked()[0].line;
        assert_eq!(line, "POST /v1/chat/completions HTTP/1.1");
    }
    // No login for one that wants it.
    let proxy = Proxy::start(Does::SocksWithLogin, "").await;
    let provider = Compatible::at(format!("http://{FAR}"))
        .proxy(format!("socks5://{}", proxy.authority))
        .retries(0);
    let error = ask(&provider, false).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Network);
    assert!(error.to_string().contains("through the proxy"), "{error}");
}

#[tokio::test]
async fn an_address_that_is_none_of_a_proxy_is_said_by_the_first_request_and_not_shown() {
    let server = Server::start([answer("yes")]).await;
    let ways = [
        format!("ftp://aladdin:{PASSWORD}@proxy:1"),
        format!("http://aladdin:{PASSWORD}@a b"),
        format!("socks4://aladdin:{PASSWORD}@127.0.0.1:1"),
        String::new(),
    ];
    for way in ways {
        let provider = Compatible::at(&server.address).proxy(way.as_str());
        let error = ask(&provider, false).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains("proxy"), "{error}");
        assert_hidden(&all_of(&error));
    }
    assert_eq!(server.connections(), 0);
}

/// Asks in a process of its own, whose environment can be set, and returns what was said there.
fn elsewhere(address: &str, direct: bool, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "REQUEST_METHOD",
    ] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command
        .args(["--exact", "asks_where_it_is_told", "--nocapture"])
        .env("ASK_AT", address)
        .envs(direct.then_some(("ASK_DIRECTLY", "1")))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, said) = text.split_once("<said>").expect(&text);
    said.split("</said>").next().unwrap().to_owned()
}

/// The other process of [`elsewhere`]; it does nothing where it is not told to.
#[tokio::test]
async fn asks_where_it_is_told() {
    let Ok(address) = std::env::var("ASK_AT") else {
        return;
    };
    let mut provider: Provider = Compatible::at(address)
        .retries(0)
        .root_certificate(AUTHORITY);
    if std::env::var_os("ASK_DIRECTLY").is_some() {
        provider = provider.no_proxy();
    }
    let said = match ask(&provider, false).await {
        Ok(answer) => answer.text(),
        Err(error) => all_of(&error),
    };
    println!("<said>{provider:?} {said}</said>");
}

/// Runs beside its servers.
async fn asked(address: &str, direct: bool, variables: &[(&str, &str)]) -> String {
    tokio::task::block_in_place(|| elsewhere(address, direct, variables))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_a_proxy() {
    let server = Server::start_tls([answer("yes")]).await;
    let plain = Server::start([answer("yes")]).await;
    let tunnel = Proxy::start(Does::Http, server.authority()).await;
    let forward = Proxy::start(Does::Http, plain.authority()).await;
    let (tunnelled, forwarded) = (with_login(&tunnel), with_login(&forward));
    let far = format!("https://{FAR}");
    let near = format!("http://{FAR}");
    let mut count = 0;
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let said = asked(&far, false, &[(name, &tunnelled)]).await;
        assert!(said.ends_with("yes"), "{name}: {said}");
        assert_hidden(&said);
        count += 1;
        assert_eq!(tunnel.asked().len(), count, "{name}");
    }
    for (at, name) in ["HTTP_PROXY", "all_proxy"].into_iter().enumerate() {
        let said = asked(&near, false, &[(name, &forwarded)]).await;
        assert!(said.ends_with("yes"), "{name}: {said}");
        assert_eq!(forward.asked().len(), at + 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_proxy_and_servers_on_this_machine_are_reached_directly() {
    let server = Server::start([answer("yes")]).await;
    let proxy = Proxy::start(Does::Refuses(403), "").await;
    let address = with_login(&proxy);
    let all = ("ALL_PROXY", address.as_str());

    // On this machine.
    let named = server.address.replace("127.0.0.1", "localhost");
    for at in [&server.address, &named] {
        let said = asked(at, false, &[all]).await;
        assert!(said.ends_with("yes"), "{said}");
    }
    assert_eq!(proxy.asked().len(), 0);

    // Elsewhere: a name that is not found shows that no proxy was asked.
    let far = "http://nowhere.invalid/v1";
    for exception in [
        "nowhere.invalid",
        "invalid",
        ".invalid",
        "a.example, nowhere.invalid",
        "*",
    ] {
        let said = asked(far, false, &[all, ("NO_PROXY", exception)]).await;
        assert!(!said.contains("proxy"), "{exception}: {said}");
        assert_eq!(proxy.asked().len(), 0, "{exception}");
    }
    let said = asked(far, true, &[all]).await;
    assert!(said.contains("could not be reached"), "{said}");
    assert_eq!(proxy.asked().len(), 0);

    let said = asked(far, false, &[all, ("NO_PROXY", "other.invalid")]).await;
    assert!(said.contains("said by the proxy"), "{said}");
    assert_hidden(&said);
    assert_eq!(proxy.asked().len(), 1);
}
