//! One server: connections that are kept, and limits to how long it may be silent.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tool_core::{ModelError, ModelErrorKind};

/// The longest answer that is read whole.
const LONGEST_BODY: usize = 256 << 20;

/// How long the end of an answer may lag behind its last event for the connection to be kept.
const GRACE: Duration = Duration::from_millis(100);

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
    ) -> Result<Response<Incoming>, ModelError> {
        match timeout(self.timeouts.first_byte, (self.send)(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(network("the provider could not be reached", error)),
            Err(_) => Err(late(
                "the provider did not answer",
                self.timeouts.first_byte,
            )),
        }
    }

    /// Reads the body of an answer piece by piece.
    pub(crate) fn reader(&self, body: Incoming) -> BodyReader {
        BodyReader {
            body,
            silence: self.timeouts.silence,
            quiet: 0,
            alarm: None,
            woken: Waker::noop().clone(),
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

/// The body of a request: pieces that earlier requests share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<Bytes>,
    next: usize,
    length: u64,
}

impl From<Vec<Bytes>> for Pieces {
    fn from(pieces: Vec<Bytes>) -> Self {
        Pieces {
            length: pieces.iter().map(|piece| piece.len() as u64).sum(),
            pieces,
            next: 0,
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.next;
        self.next += 1;
        let piece = self.pieces.get_mut(next).map(std::mem::take);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.next >= self.pieces.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// The body of an answer.
pub(crate) struct BodyReader {
    body: Incoming,
    silence: Duration,
    /// How often the alarm went off since the last piece.
    quiet: u32,
    /// Goes off at every quarter of the silence, so that a piece costs no look at the clock.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Whom the alarm wakes.
    woken: Waker,
}

impl BodyReader {
    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ModelError>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Err(network("the connection broke", error)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.quiet = 0;
                        return Poll::Ready(Ok(Some(data)));
                    }
                }
                Poll::Pending => return self.poll_alarm(context),
            }
        }
    }

    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ModelError>> {
        let quarter = self.silence / 4;
        loop {
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(quarter)));
            // Polled only where it has to be told anew whom to wake, which is dear. (`will_wake` also
            // compares tables of functions, of which there may be several for one kind of waker.)
            if !alarm.is_elapsed() && self.woken.data() == context.waker().data() {
                return Poll::Pending;
            }
            self.woken.clone_from(context.waker());
            if alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // The piece may have come at any time in the first quarter, which is not counted.
            if self.quiet == 4 {
                return Poll::Ready(Err(late("the provider fell silent", self.silence)));
            }
            self.quiet += 1;
            alarm.as_mut().reset(Instant::now() + quarter);
            self.woken = Waker::noop().clone();
        }
    }

    /// All of it, but no more than `limit` bytes; `None` where there is more.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Option<Bytes>, ModelError> {
        let Some(first) = self.next().await? else {
            return Ok(Some(Bytes::new()));
        };
        let mut whole: Option<Vec<u8>> = None;
        while let Some(more) = self.next().await? {
            let whole = whole.get_or_insert_with(|| {
                let rest = self.body.size_hint().exact().unwrap_or_default();
                let rest = usize::try_from(rest).unwrap_or_default().min(limit);
                let mut whole = Vec::with_capacity(first.len() + more.len() + rest);
                whole.extend_from_slice(&first);
                whole
            });
            if whole.len() + more.len() > limit {
                return Ok(None);
            }
            whole.extend_from_slice(&more);
        }
        Ok(Some(whole.map_or(first, Bytes::from)))
    }

    /// An answer that is read whole.
    pub(crate) async fn whole(&mut self) -> Result<Bytes, ModelError> {
        self.read(LONGEST_BODY).await?.ok_or_else(|| {
            let text = format!("the answer is longer than {LONGEST_BODY} bytes");
            ModelError::new(ModelErrorKind::Decoding, text)
        })
    }

    /// Reads to the end of an answer whose last event was read, so that the connection is kept.
    pub(crate) async fn drain(mut self) {
        let end = async { while let Ok(Some(_)) = self.next().await {} };
        // A server that does not end it costs a connection, not the answer.
        let _ = timeout(GRACE, end).await;
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
    ModelError::new(ModelErrorKind::Network, text).with_source(error)
}
