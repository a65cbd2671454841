//! TLS: whom a connection trusts, and what it offers to speak.

use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tool_core::{ModelError, ModelErrorKind};

/// What a client needs to speak TLS.
#[derive(Clone)]
pub(super) struct Tls(ClientConfig);

impl Tls {
    /// Trusts the certificates that the system trusts, or where it has none, Mozilla's; and `added`,
    /// each of which is PEM.
    pub(super) fn new(added: &[Arc<[u8]>]) -> Result<Self, ModelError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for pem in added {
            add(&mut roots, pem)?;
        }
        let config = ClientConfig::builder_with_provider(cryptography())
            .with_safe_default_protocol_versions()
            .map_err(|error| configuration("TLS could not be set up").with_source(error))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Tls(config))
    }

    /// Speaks TLS over the connections of `connector`.
    pub(super) fn over<C>(&self, connector: C) -> HttpsConnector<C> {
        let builder = HttpsConnectorBuilder::new()
            .with_tls_config(self.0.clone())
            .https_only();
        #[cfg(feature = "http2")]
        let builder = builder.enable_all_versions();
        #[cfg(not(feature = "http2"))]
        let builder = builder.enable_http1();
        builder.wrap_connector(connector)
    }

    /// The same without HTTP/2, which proxies are not spoken to in.
    pub(super) fn over_http1<C>(&self, connector: C) -> HttpsConnector<C> {
        HttpsConnectorBuilder::new()
            .with_tls_config(self.0.clone())
            .https_only()
            .enable_http1()
            .wrap_connector(connector)
    }
}

/// What the application installed as the default of its process, else *ring*, which needs nothing but a C compiler.
#[allow(
    deprecated,
    reason = "deprecated for its lack of post-quantum algorithms; who needs them installs another"
)]
fn cryptography() -> Arc<CryptoProvider> {
    let installed = CryptoProvider::get_default().cloned();
    installed.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()))
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), ModelError> {
    let count = roots.len();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate =
            certificate.map_err(|_| configuration("a root certificate is not valid PEM"))?;
        roots.add(certificate).map_err(|error| {
            configuration(&format!("a root certificate cannot be read: {error}"))
        })?;
    }
    match roots.len() > count {
        true => Ok(()),
        false => Err(configuration("the PEM of a root certificate holds none")),
    }
}

fn configuration(text: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, text)
}
