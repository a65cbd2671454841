//! P4: proxies, of the environment and of one's own.
#![allow(clippy::unwrap_used)]

#[path = "support/tls.rs"]
mod tls;

use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tls::{TlsServer, authority};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tool_core::{Chat, ModelError, ModelErrorKind};
use tool_providers::{Compatible, Provider};

fn answer() -> String {
    json!({ "choices": [{ "message": { "content": "reached" }, "finish_reason": "stop" }] })
        .to_string()
}

/// A proxy that leads everything to one server, or answers itself, and keeps the heads that it was shown.
#[derive(Clone)]
struct Proxy {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
enum Behaviour {
    Http { server: String },
    Refuses,
    Socks { server: String, asks_login: bool },
}

impl Proxy {
    async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy {
            address: listener.local_addr().unwrap().to_string(),
            heads: Arc::default(),
        };
        let shared = proxy.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, behaviour) = (shared.clone(), behaviour.clone());
                tokio::spawn(async move { shared.serve(stream, behaviour).await });
            }
        });
        proxy
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    async fn serve(self, mut stream: TcpStream, behaviour: Behaviour) -> Option<()> {
        if let Behaviour::Socks { server, asks_login } = behaviour {
            return self.socks(stream, &server, asks_login).await;
        }
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap();
        self.heads.lock().unwrap().push(head.clone());
        match behaviour {
            Behaviour::Http { server } if head.starts_with("CONNECT") => {
                let mut to = TcpStream::connect(server).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
                tokio::io::copy_bidirectional(&mut stream, &mut to)
                    .await
                    .ok()?;
            }
            Behaviour::Http { .. } => {
                let length = head.to_lowercase();
                let length = length.split_once("content-length: ").unwrap().1;
                let length = length.split_once('\r').unwrap().0.parse().unwrap();
                stream.read_exact(&mut vec![0; length]).await.ok()?;
                let answer = answer();
                let reply = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                    answer.len()
                );
                stream.write_all(reply.as_bytes()).await.ok()?;
            }
            _ => {
                let reply =
                    "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
                stream.write_all(reply.as_bytes()).await.ok()?;
            }
        }
        Some(())
    }

    /// RFC 1928 and 1929, as far as they are needed.
    async fn socks(self, mut stream: TcpStream, server: &str, asks_login: bool) -> Option<()> {
        let mut hello = [0; 2];
        stream.read_exact(&mut hello).await.ok()?;
        stream
            .read_exact(&mut vec![0; hello[1].into()])
            .await
            .ok()?;
        stream
            .write_all(&[5, if asks_login { 2 } else { 0 }])
            .await
            .ok()?;
        if asks_login {
            stream.read_u8().await.ok()?;
            let mut login = Vec::new();
            for _ in 0..2 {
                let mut part = vec![0; stream.read_u8().await.ok()?.into()];
                stream.read_exact(&mut part).await.ok()?;
                login.push(String::from_utf8(part).unwrap());
            }
            self.heads.lock().unwrap().push(login.join(":"));
            stream.write_all(&[1, 0]).await.ok()?;
        }
        let mut head = [0; 4];
        stream.read_exact(&mut head).await.ok()?;
        let host = match head[3] {
            1 => {
                let mut address = [0; 4];
                stream.read_exact(&mut address).await.ok()?;
                std::net::Ipv4Addr::from(address).to_string()
            }
            3 => {
                let mut name = vec![0; stream.read_u8().await.ok()?.into()];
                stream.read_exact(&mut name).await.ok()?;
                String::from_utf8(name).unwrap()
            }
            other => panic!("{other}"),
        };
        stream.read_u16().await.ok()?;
        self.heads.lock().unwrap().push(host);
        let mut to = TcpStream::connect(server).await.unwrap();
        stream
            .write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            .await
            .ok()?;
        tokio::io::copy_bidirectional(&mut stream, &mut to)
            .await
            .ok()?;
        Some(())
    }
}

async fn ask(provider: Provider) -> Result<String, ModelError> {
    let asked = Chat::new(provider.retries(0).model("m")).ask("hi").await;
    asked.map(|turn| turn.text()).map_err(|error| {
        let error = error.model_error().unwrap();
        ModelError::new(error.kind(), format!("{error} {error:?}"))
    })
}

async fn secure() -> TlsServer {
    TlsServer::start(&["h2", "http/1.1"], &answer()).await
}

const PASSWORD: &str = "a-secret-of-the-proxy";

#[tokio::test]
async fn a_tunnel_leads_to_a_server_that_speaks_tls_which_the_proxy_cannot_read() {
    let server = secure().await;
    let behaviour = Behaviour::Http {
        server: server.address.clone(),
    };
    let proxy = Proxy::start(behaviour).await;
    let provider = Compatible::at("https://model.example:8443")
        .root_certificate(authority())
        .proxy(format!("http://me:{PASSWORD}@{}", proxy.address));
    assert_eq!(ask(provider.clone()).await.unwrap(), "reached");
    let head = &proxy.heads()[0];
    assert!(
        head.starts_with("CONNECT model.example:8443 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.to_lowercase().contains("proxy-authorization: basic "),
        "{head}"
    );
    assert!(!format!("{provider:?}").contains(PASSWORD));
}

#[tokio::test]
async fn a_server_without_tls_is_asked_for_by_its_whole_address() {
    let behaviour = Behaviour::Http {
        server: String::new(),
    };
    let proxy = Proxy::start(behaviour).await;
    let provider = Compatible::at("http://model.example/v1")
        .proxy(format!("http://me:{PASSWORD}@{}", proxy.address));
    assert_eq!(ask(provider).await.unwrap(), "reached");
    let head = proxy.heads()[0].to_lowercase();
    assert!(
        head.starts_with("post http://model.example/v1/chat/completions http/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("proxy-authorization: basic "), "{head}");
    assert!(head.contains("\r\nhost: model.example\r\n"), "{head}");
}

#[tokio::test]
async fn socks_5_leads_anywhere_with_and_without_a_login() {
    let server = secure().await;
    for (scheme, asks_login) in [("socks5h", false), ("socks5h", true), ("socks5", false)] {
        let server = server.address.clone();
        let proxy = Proxy::start(Behaviour::Socks { server, asks_login }).await;
        let login = if asks_login {
            format!("me:{PASSWORD}@")
        } else {
            String::new()
        };
        // `socks5` finds the host's address itself; `socks5h` leaves that to the proxy.
        let host = if scheme == "socks5" {
            "localhost"
        } else {
            "model.example"
        };
        let provider = Compatible::at(format!("https://{host}"))
            .root_certificate(authority())
            .proxy(format!("{scheme}://{login}{}", proxy.address));
        assert_eq!(ask(provider).await.unwrap(), "reached", "{scheme}");
        let heads = proxy.heads();
        if asks_login {
            assert_eq!(heads, [&format!("me:{PASSWORD}"), host]);
        } else if scheme == "socks5h" {
            assert_eq!(heads, [host]);
        } else {
            assert_eq!(heads, ["127.0.0.1"]);
        }
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_not_there_or_is_none_is_an_error_without_its_password() {
    let refuses = Proxy::start(Behaviour::Refuses).await;
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().to_string()
    };
    for (address, kind, what) in [
        (refuses.address.as_str(), ModelErrorKind::Network, "proxy"),
        (gone.as_str(), ModelErrorKind::Network, "refused"),
        (
            "not an address",
            ModelErrorKind::Configuration,
            "http://host:port",
        ),
    ] {
        let provider = Compatible::at("https://model.example")
            .proxy(format!("http://me:{PASSWORD}@{address}"));
        let error = ask(provider).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert!(!error.to_string().contains(PASSWORD), "{error}");
    }
    let provider = Compatible::at("https://model.example").proxy("ftp://127.0.0.1:1");
    let error = ask(provider).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration, "{error}");
}

const PLACE: &str = "TOOL_TEST_PROXIED";

/// Not a test of its own: asks as the environment says.
#[tokio::test]
async fn process() {
    let Ok(address) = std::env::var(PLACE) else {
        return;
    };
    let provider = Compatible::at(address);
    let provider = match std::env::var_os("TOOL_TEST_DIRECT") {
        Some(_) => provider.no_proxy(),
        None => provider,
    };
    match ask(provider).await {
        Ok(text) => println!("said: {text}"),
        Err(error) => println!("failed: {error}"),
    }
}

fn said(address: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "process", "--nocapture"])
        .env(PLACE, address);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.envs(variables.iter().copied());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environment_is_heeded_but_for_this_machine_and_what_it_excepts() {
    let behaviour = Behaviour::Http {
        server: String::new(),
    };
    let proxy = Proxy::start(behaviour).await;
    let address = format!("http://{}", proxy.address);
    let to = "http://model.example/v1";
    let through = "said: reached";
    assert!(said(to, &[("http_proxy", &address)]).contains(through));
    assert!(said(to, &[("ALL_PROXY", &address)]).contains(through));
    assert_eq!(proxy.heads().len(), 2);
    let excepted = [
        ("http_proxy", address.as_str()),
        ("NO_PROXY", "model.example"),
    ];
    assert!(
        said(to, &excepted).contains("failed"),
        "there is no such host"
    );
    let direct = [
        ("http_proxy", address.as_str()),
        ("TOOL_TEST_DIRECT", "yes"),
    ];
    assert!(said(to, &direct).contains("failed"));
    let local = said("http://127.0.0.1:1/v1", &[("http_proxy", &address)]);
    assert!(
        local.contains("failed") && local.contains("refused"),
        "{local}"
    );
    assert_eq!(proxy.heads().len(), 2, "it was asked no more");
}
