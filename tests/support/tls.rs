//! TLS with the certificate of the fixtures.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
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
