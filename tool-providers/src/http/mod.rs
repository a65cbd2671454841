//! One server: connections that are kept, and limits to how long it may be silent.

mod body;
mod connect;
mod proxy;
mod tls;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use tool_core::{ModelError, ModelErrorKind};

pub(crate) use body::{Answer, BodyReader, Heard, Pieces};
pub(crate) use proxy::ProxyChoice;

use connect::Connector;
use tls::Tls;

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
    /// Until there is a connection: to a proxy and through it, and TLS among it.
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

/// What is said of the way to a server.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) timeouts: Timeouts,
    /// Certificates beside those that the system trusts, as PEM.
    pub(crate) roots: Vec<Arc<[u8]>>,
    pub(crate) proxy: ProxyChoice,
}

/// The connections to one server.
pub(crate) struct HttpClient {
    client: Client<Connector, Pieces>,
    first_byte: Duration,
    /// What a proxy is shown with each request.
    authorization: Option<HeaderValue>,
}

impl HttpClient {
    /// A client for the server of `base`. It connects when it is first used.
    pub(crate) fn new(base: &Uri, settings: &Settings) -> Result<Self, ModelError> {
        let is_https = base.scheme_str() == Some("https");
        let trust = || Tls::new(&settings.roots);
        let tls = is_https.then(trust).transpose()?;
        let proxy = settings.proxy.before(base)?;
        let connector = Connector::new(settings.timeouts.connect, tls, proxy.as_ref(), trust)?;
        Ok(HttpClient {
            client: Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(60))
                .build(connector),
            first_byte: settings.timeouts.first_byte,
            authorization: proxy
                .and_then(|proxy| proxy.authorization)
                .filter(|_| !is_https),
        })
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        mut request: Request<Pieces>,
    ) -> Result<Response<Answer>, ModelError> {
        if let Some(authorization) = &self.authorization {
            let headers = request.headers_mut();
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        match timeout(self.first_byte, self.client.request(request)).await {
            Ok(Ok(response)) => Ok(response.map(Answer::live)),
            Ok(Err(error)) => Err(network("the provider could not be reached", error)),
            Err(_) => Err(late("the provider did not answer", self.first_byte)),
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
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
    let (kind, advice) = connect::diagnose(&error);
    if let Some(advice) = advice {
        text.push_str("; ");
        text.push_str(advice);
    }
    ModelError::new(kind, text).with_source(error)
}
