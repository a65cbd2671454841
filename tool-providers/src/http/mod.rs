//! One server: connections that are kept, and limits to how long it may be silent.

mod body;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use tool_core::{ModelError, ModelErrorKind};

pub(crate) use body::{Answer, BodyReader, Heard, Pieces};

/// The headers by which providers name a request.
pub(crate) const REQUEST_IDS: [&str; 5] = [
    "x-request-id",
    "request-id",
    "x-generation-id",
    "apim-request-id",
    "cf-ray",
];

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// To accept a connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer. An answer that is not streamed starts only
    /// when the model has finished it.
    pub first_byte: Duration,
    /// Between two pieces of an answer; it may take a quarter more until that is noticed.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(600),
            silence: Duration::from_secs(300),
        }
    }
}

/// The connections to one server.
pub(crate) struct HttpClient {
    send: Box<dyn Fn(Request<Pieces>) -> ResponseFuture + Send + Sync>,
    timeouts: Timeouts,
}

impl HttpClient {
    /// A client for the server of `base`. It connects when it is first used.
    pub(crate) fn new(base: &Uri, timeouts: Timeouts) -> Result<Self, ModelError> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(Duration::from_secs(60)));
        connector.set_connect_timeout(Some(timeouts.connect));
        let is_https = base.scheme_str() == Some("https");
        let proxy = match is_https {
            true => Matcher::from_env().intercept(base),
            false => None,
        };
        let send = match (is_https, proxy) {
            (false, _) => sender(connector),
            (true, None) => sender(https(connector)?),
            (true, Some(proxy)) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), connector);
                if let Some(authorization) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                sender(https(tunnel)?)
            }
        };
        Ok(HttpClient { send, timeouts })
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        request: Request<Pieces>,
    ) -> Result<Response<Answer>, ModelError> {
        match timeout(self.timeouts.first_byte, (self.send)(request)).await {
            Ok(Ok(response)) => Ok(response.map(Answer::live)),
            Ok(Err(error)) => Err(network("the provider could not be reached", error)),
            Err(_) => Err(late(
                "the provider did not answer",
                self.timeouts.first_byte,
            )),
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

fn sender<C>(connector: C) -> Box<dyn Fn(Request<Pieces>) -> ResponseFuture + Send + Sync>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client: Client<C, Pieces> = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(60))
        .build(connector);
    Box::new(move |request| client.request(request))
}

/// TLS with the certificates that the system trusts; where it has none, with Mozilla's.
fn https<C>(connector: C) -> Result<HttpsConnector<C>, ModelError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let native = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider.clone());
    let builder = match native {
        Ok(builder) => builder,
        Err(_) => HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .map_err(|error| {
                let text = "TLS could not be set up";
                ModelError::new(ModelErrorKind::Configuration, text).with_source(error)
            })?,
    };
    Ok(builder
        .https_only()
        .enable_http1()
        .wrap_connector(connector))
}

fn late(what: &str, limit: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Timeout, format!("{what} within {limit:?}"))
}

fn network(what: &str, error: impl StdError + Send + Sync + 'static) -> ModelError {
    let mut text = what.to_owned();
    let mut cause: Option<&dyn StdError> = Some(&error);
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    ModelError::new(ModelErrorKind::Network, text).with_source(error)
}
