//! A proxy on this machine. Whatever it is asked for, it connects to one server.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::tls;

/// A connection.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// What a proxy does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Does {
    /// Connects by HTTP: a tunnel where it is asked for one.
    Http,
    /// Answers every request with this status.
    Refuses(u16),
    /// Says nothing.
    Nothing,
    /// Speaks TLS, then does as [`Does::Http`].
    Https,
    /// Connects by SOCKS, version 5.
    Socks,
    /// The same, and wants a user and a password.
    SocksWithLogin,
}

#[derive(Clone)]
pub struct Proxy {
    /// `host:port`.
    pub authority: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// A proxy before the server at `host:port`.
    pub async fn start(does: Does, server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy {
            authority: listener.local_addr().unwrap().to_string(),
            asked: Arc::default(),
        };
        let (shared, server) = (proxy.clone(), server.to_owned());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let (shared, server) = (shared.clone(), server.clone());
                tokio::spawn(async move {
                    if does == Does::Https {
                        let stream = tls::acceptor(&[]).accept(stream).await.ok()?;
                        return shared.serve(stream, does, &server).await;
                    }
                    shared.serve(stream, does, &server).await
                });
            }
        });
        proxy
    }

    /// The heads of the requests; of SOCKS, where to and with which login.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    async fn serve(&self, mut client: impl Io, does: Does, server: &str) -> Option<()> {
        let mut sent = Vec::new();
        match does {
            Does::Http | Does::Https | Does::Refuses(_) => {
                while !sent.windows(4).any(|window| window == b"\r\n\r\n") {
                    if client.read_buf(&mut sent).await.ok()? == 0 {
                        return None;
                    }
                }
                let text = String::from_utf8_lossy(&sent).into_owned();
                let head = text.split("\r\n\r\n").next()?.to_owned();
                let is_tunnel = head.starts_with("CONNECT ");
                self.asked.lock().unwrap().push(head);
                if let Does::Refuses(status) = does {
                    let body = "said by the proxy";
                    let reply = format!(
                        "HTTP/1.1 {status} No\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    return client.write_all(reply.as_bytes()).await.ok();
                }
                if is_tunnel {
                    sent.clear();
                    client.write_all(b"HTTP/1.1 200 Yes\r\n\r\n").await.ok()?;
                }
            }
            Does::Nothing => {
                // Until who asked has gone.
                while client.read_buf(&mut sent).await.ok()? > 0 {}
                return None;
            }
            Does::Socks | Does::SocksWithLogin => self.greet(&mut client, does).await?,
        }
        let mut server = TcpStream::connect(server).await.ok()?;
        server.set_nodelay(true).ok()?;
        server.write_all(&sent).await.ok()?;
        copy_bidirectional(&mut client, &mut server).await.ok()?;
        Some(())
    }

    async fn greet(&self, client: &mut impl Io, does: Does) -> Option<()> {
        let method = if does == Does::Socks { 0 } else { 2 };
        client.read_u8().await.ok()?;
        let methods = prefixed(client).await?;
        if !methods.contains(&method) {
            client.write_all(&[5, 0xff]).await.ok()?;
            return None;
        }
        client.write_all(&[5, method]).await.ok()?;
        let mut login = String::new();
        if method == 2 {
            client.read_u8().await.ok()?;
            let user = prefixed(client).await?;
            let password = prefixed(client).await?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            login = format!(" as {} {}", text(&user), text(&password));
            client.write_all(&[1, 0]).await.ok()?;
        }
        let mut head = [0; 4];
        client.read_exact(&mut head).await.ok()?;
        let host = match head[3] {
            1 => {
                let mut address = [0; 4];
                client.read_exact(&mut address).await.ok()?;
                std::net::Ipv4Addr::from(address).to_string()
            }
            _ => String::from_utf8_lossy(&prefixed(client).await?).into_owned(),
        };
        let port = client.read_u16().await.ok()?;
        self.asked
            .lock()
            .unwrap()
            .push(format!("{host}:{port}{login}"));
        let reply = [5, 0, 0, 1, 127, 0, 0, 1, 0, 0];
        client.write_all(&reply).await.ok()
    }
}

/// Bytes after their number.
async fn prefixed(client: &mut impl Io) -> Option<Vec<u8>> {
    let length = client.read_u8().await.ok()?;
    let mut bytes = vec![0; length.into()];
    client.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}
