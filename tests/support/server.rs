//! A server on this machine that speaks HTTP, answers what a test says and keeps what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::tls;

/// What the server says to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// The pieces of the body, each its own chunk.
    pub chunks: Vec<Vec<u8>>,
    /// A pause before each chunk.
    pub pause: Duration,
    /// How the reply ends.
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// As it should.
    Whole,
    /// The connection breaks before the end.
    Broken,
    /// Nothing more comes, but the connection stays.
    Silent,
}

impl Reply {
    pub fn json(status: u16, body: impl ToString) -> Self {
        Reply {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            chunks: vec![body.to_string().into_bytes()],
            pause: Duration::ZERO,
            end: End::Whole,
        }
    }

    pub fn stream(chunks: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        Reply {
            headers: vec![("content-type".into(), "text/event-stream".into())],
            chunks: chunks.into_iter().map(Into::into).collect(),
            ..Reply::json(200, "")
        }
    }

    /// The media type, whatever it was.
    pub fn kind(mut self, kind: &str) -> Self {
        self.headers.retain(|(name, _)| name != "content-type");
        self.header("content-type", kind)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn end(self, end: End) -> Self {
        Reply { end, ..self }
    }

    pub fn pause(self, pause: Duration) -> Self {
        Reply { pause, ..self }
    }
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Clone)]
pub struct Server {
    pub address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<Mutex<usize>>,
}

impl Server {
    /// A server that gives these replies in order, and the last one again and again.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Server::begin("http", replies, |stream| async { Some(stream) }).await
    }

    /// The same over TLS, with the certificate of the fixtures.
    pub async fn start_tls(replies: impl IntoIterator<Item = Reply>) -> Self {
        let acceptor = tls::acceptor(&[]);
        let accept = move |stream| {
            let accepting = acceptor.accept(stream);
            async { accepting.await.ok() }
        };
        Server::begin("https", replies, accept).await
    }

    async fn begin<A, F, S>(
        scheme: &str,
        replies: impl IntoIterator<Item = Reply>,
        accept: A,
    ) -> Self
    where
        A: Fn(TcpStream) -> F + Send + Sync + 'static,
        F: Future<Output = Option<S>> + Send,
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server {
            address: format!("{scheme}://{}", listener.local_addr().unwrap()),
            asked: Arc::default(),
            connections: Arc::default(),
        };
        let replies = Arc::new(replies.into_iter().collect::<Vec<_>>());
        let (shared, accept) = (server.clone(), Arc::new(accept));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                *shared.connections.lock().unwrap() += 1;
                let (server, replies, accept) = (shared.clone(), replies.clone(), accept.clone());
                tokio::spawn(async move {
                    if let Some(stream) = accept(stream).await {
                        server.serve(stream, replies).await;
                    }
                });
            }
        });
        server
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// `host:port`.
    pub fn authority(&self) -> &str {
        self.address.split_once("://").unwrap().1
    }

    async fn serve(
        self,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        replies: Arc<Vec<Reply>>,
    ) {
        let mut buffer = Vec::new();
        while let Some(asked) = read_request(&mut stream, &mut buffer).await {
            let number = {
                let mut all = self.asked.lock().unwrap();
                all.push(asked);
                all.len() - 1
            };
            let reply = replies[number.min(replies.len() - 1)].clone();
            if write_reply(&mut stream, reply).await.is_none() {
                return;
            }
        }
    }
}

async fn read_request(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<Asked> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&buffer[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
    while buffer.len() < head + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer[head + 4..head + 4 + length].to_vec();
    buffer.drain(..head + 4 + length);
    Some(Asked {
        line,
        headers,
        body,
    })
}

/// `None`: the connection is over.
async fn write_reply(stream: &mut (impl AsyncWrite + Unpin), reply: Reply) -> Option<()> {
    let mut head = format!(
        "HTTP/1.1 {} Said\r\ntransfer-encoding: chunked\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    for chunk in reply.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        if !reply.pause.is_zero() {
            tokio::time::sleep(reply.pause).await;
        }
        stream
            .write_all(format!("{:x}\r\n", chunk.len()).as_bytes())
            .await
            .ok()?;
        stream.write_all(chunk).await.ok()?;
        stream.write_all(b"\r\n").await.ok()?;
    }
    stream.flush().await.ok()?;
    match reply.end {
        End::Whole => stream.write_all(b"0\r\n\r\n").await.ok(),
        End::Broken => None,
        End::Silent => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            None
        }
    }
}
