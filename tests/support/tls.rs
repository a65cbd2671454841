//! A server that speaks TLS with the certificate of the fixtures, and HTTP/1.1 or HTTP/2 over it.
#![allow(dead_code)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tls");

/// The certificate of the authority that vouches for the server.
pub fn authority() -> Vec<u8> {
    std::fs::read(format!("{FIXTURES}/authority.pem")).unwrap()
}

#[derive(Clone)]
pub struct TlsServer {
    /// Host and port.
    pub address: String,
    versions: Arc<Mutex<Vec<String>>>,
}

impl TlsServer {
    /// Offers these protocols, and answers every request with this text.
    pub async fn start(protocols: &[&str], answer: &str) -> Self {
        let certificates = CertificateDer::pem_file_iter(format!("{FIXTURES}/server.pem"));
        let certificates = certificates.unwrap().map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(format!("{FIXTURES}/server.key")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let mut config = config
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let server = TlsServer {
            address: format!("127.0.0.1:{}", listener.local_addr().unwrap().port()),
            versions: Arc::default(),
        };
        let (acceptor, shared) = (TlsAcceptor::from(Arc::new(config)), server.clone());
        let answer = Bytes::from(answer.to_owned());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shared, answer) = (acceptor.clone(), shared.clone(), answer.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let is_2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let service = service_fn(move |request: Request<Incoming>| {
                        let version = format!("{:?}", request.version());
                        shared.versions.lock().unwrap().push(version);
                        let mut response = Response::new(Full::new(answer.clone()));
                        let json = "application/json".parse().unwrap();
                        response.headers_mut().insert("content-type", json);
                        async move { Ok::<_, Infallible>(response) }
                    });
                    let io = TokioIo::new(stream);
                    // Whoever called may be gone.
                    let _ = match is_2 {
                        true => {
                            let http2 =
                                hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                            http2.serve_connection(io, service).await
                        }
                        false => {
                            let http1 = hyper::server::conn::http1::Builder::new();
                            http1.serve_connection(io, service).await
                        }
                    };
                });
            }
        });
        server
    }

    /// In which version each request came.
    pub fn versions(&self) -> Vec<String> {
        self.versions.lock().unwrap().clone()
    }
}
