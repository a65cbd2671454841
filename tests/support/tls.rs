//! TLS with the certificate of the fixtures.
#![allow(dead_code, deprecated)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The authority that the certificate comes from.
pub const AUTHORITY: &[u8] = include_bytes!("../fixtures/tls/authority.pem");

const CERTIFICATE: &[u8] = include_bytes!("../fixtures/tls/server.pem");
const KEY: &[u8] = include_bytes!("../fixtures/tls/server.key");

/// Accepts connections over TLS and offers these protocols.
pub fn acceptor(protocols: &[&str]) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let named = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = named.collect();
    Arc::new(config).into()
}

/// A server that offers HTTP/1.1 too, speaks HTTP/2 alone, and answers all requests alike.
#[derive(Clone)]
pub struct Http2 {
    pub address: String,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Http2 {
    pub async fn start(status: u16, body: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Http2 {
            address: format!("https://{}", listener.local_addr().unwrap()),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (shared, acceptor) = (server.clone(), acceptor(&["h2", "http/1.1"]));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (shared, acceptor) = (shared.clone(), acceptor.clone());
                let body = body.to_string();
                tokio::spawn(async move { shared.serve(stream, &acceptor, status, &body).await });
            }
        });
        server
    }

    /// How many connections and requests there were.
    pub fn counted(&self) -> (usize, usize) {
        let of = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        (of(&self.connections), of(&self.requests))
    }

    async fn serve(
        self,
        stream: TcpStream,
        acceptor: &TlsAcceptor,
        status: u16,
        body: &str,
    ) -> Option<()> {
        let stream = acceptor.accept(stream).await.ok()?;
        let mut connection = h2::server::handshake(stream).await.ok()?;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            self.requests.fetch_add(1, Ordering::SeqCst);
            let head = http::Response::builder()
                .status(status)
                .header("content-type", "application/json");
            let mut answer = respond.send_response(head.body(()).ok()?, false).ok()?;
            answer.send_data(body.to_owned().into(), true).ok()?;
        }
        Some(())
    }
}
