//! How a connection is made: directly or through a proxy, with or without TLS.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use rustls::{CertificateError, InvalidMessage};
use tokio::time::timeout;
use tool_core::{ModelError, ModelErrorKind};
use tower_service::Service;

use super::proxy::Proxy;
use super::tls::Tls;

type BoxError = Box<dyn StdError + Send + Sync>;
type Dialing = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;
type Dial = Arc<dyn Fn(Uri) -> Dialing + Send + Sync>;

/// Makes connections to one server.
#[derive(Clone)]
pub(super) struct Connector {
    dial: Dial,
    /// How long all of it may take: the connection, the tunnel, the handshake.
    limit: Duration,
}

impl Connector {
    /// `tls`: where the server speaks it. `trust` makes what a proxy needs that speaks it.
    pub(super) fn new(
        limit: Duration,
        tls: Option<Tls>,
        proxy: Option<&Proxy>,
        trust: impl FnOnce() -> Result<Tls, ModelError>,
    ) -> Result<Self, ModelError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        tcp.set_connect_timeout(Some(limit));
        let dial = match (tls, proxy) {
            (None, None) => dial(tcp),
            (Some(tls), None) => dial(tls.over(tcp)),
            (tls, Some(proxy)) => through(proxy, tcp, tls, trust)?,
        };
        Ok(Connector { dial, limit })
    }
}

fn through(
    proxy: &Proxy,
    tcp: HttpConnector,
    tls: Option<Tls>,
    trust: impl FnOnce() -> Result<Tls, ModelError>,
) -> Result<Dial, ModelError> {
    let at = proxy.uri.clone();
    let dial = match (at.scheme_str(), tls) {
        (Some("http"), None) => forward(at, dial(tcp)),
        (Some("http"), Some(tls)) => dial(tls.over(proxy.tunnel(Tunnel::new(at, tcp)))),
        (Some("https"), None) => forward(at, dial(trust()?.over_http1(tcp))),
        (Some("https"), Some(tls)) => {
            let tunnel = Tunnel::new(at, tls.over_http1(tcp));
            dial(tls.over(proxy.tunnel(tunnel)))
        }
        (Some("socks5" | "socks5h"), tls) => {
            // Names are left to the proxy: looking them up here would block the thread.
            let mut socks = SocksV5::new(at, tcp);
            if let Some((user, password)) = &proxy.login {
                socks = socks.with_auth(user.clone(), password.clone());
            }
            match tls {
                None => dial(socks),
                Some(tls) => dial(tls.over(socks)),
            }
        }
        (scheme, _) => {
            let scheme = scheme.unwrap_or_default();
            let text = format!(
                "a proxy of the scheme {scheme}:// is not supported; http, https and socks5 are"
            );
            return Err(ModelError::new(ModelErrorKind::Configuration, text));
        }
    };
    let name = format!("{}", proxy.uri).trim_end_matches('/').to_owned();
    Ok(Arc::new(move |to| {
        let (dialing, proxy) = (dial(to), name.clone());
        Box::pin(async move {
            dialing
                .await
                .map_err(|cause| ThroughProxy { proxy, cause }.into())
        })
    }))
}

fn dial<C>(connector: C) -> Dial
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Io,
    C::Error: Into<BoxError>,
    C::Future: Send,
{
    Arc::new(move |to| {
        let mut connector = connector.clone();
        Box::pin(async move {
            let ready = std::future::poll_fn(|context| connector.poll_ready(context)).await;
            ready.map_err(Into::into)?;
            let io = connector.call(to).await.map_err(Into::into)?;
            Ok(Stream {
                is_forwarded: false,
                io: Box::new(io),
            })
        })
    })
}

/// Connections to a proxy that is told with each request where that goes.
fn forward(proxy: Uri, dial: Dial) -> Dial {
    Arc::new(move |_| {
        let dialing = dial(proxy.clone());
        Box::pin(async move {
            let mut stream = dialing.await?;
            stream.is_forwarded = true;
            Ok(stream)
        })
    })
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Dialing;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Dialing {
        let (dialing, limit) = ((self.dial)(to), self.limit);
        Box::pin(async move {
            match timeout(limit, dialing).await {
                Ok(Err(error)) if has_elapsed(&*error) => Err(Late(limit).into()),
                Ok(stream) => stream,
                Err(_) => Err(Late(limit).into()),
            }
        })
    }
}

/// Whether a limit of this program, not the system's, was the cause.
fn has_elapsed(error: &(dyn StdError + 'static)) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|io| io.kind() == io::ErrorKind::TimedOut && io.raw_os_error().is_none())
}

/// There was no connection in time.
#[derive(Debug)]
struct Late(Duration);

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there was no connection within {:?}", self.0)
    }
}

impl StdError for Late {}

/// A proxy did not make the connection.
#[derive(Debug)]
struct ThroughProxy {
    proxy: String,
    cause: BoxError,
}

impl fmt::Display for ThroughProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "through the proxy {}", self.proxy)
    }
}

impl StdError for ThroughProxy {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

type TunnelError = <Tunnel<HttpConnector> as Service<Uri>>::Error;

/// What kind of error it is that a connection could not be made, or broke, and what to do about it.
pub(super) fn diagnose(error: &(dyn StdError + 'static)) -> (ModelErrorKind, Option<&'static str>) {
    for error in causes(error) {
        let io = error.downcast_ref::<io::Error>();
        if error.is::<Late>() || io.is_some_and(|io| io.kind() == io::ErrorKind::TimedOut) {
            return (ModelErrorKind::Timeout, None);
        }
        match error.downcast_ref::<TunnelError>() {
            Some(TunnelError::ProxyAuthRequired) => {
                let advice = "write its user and password before its host: http://user:password@…";
                return (ModelErrorKind::Auth, Some(advice));
            }
            Some(TunnelError::TunnelUnsuccessful) => {
                let advice = "the proxy refused to connect to this server";
                return (ModelErrorKind::Network, Some(advice));
            }
            _ => {}
        }
        match error.downcast_ref::<rustls::Error>() {
            Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                let advice = "an authority of your own is added by `Provider::root_certificate`";
                return (ModelErrorKind::Configuration, Some(advice));
            }
            Some(rustls::Error::InvalidCertificate(_)) => {
                return (ModelErrorKind::Configuration, None);
            }
            Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
                let advice = "the server does not speak TLS: is its address one of http://?";
                return (ModelErrorKind::Configuration, Some(advice));
            }
            _ => {}
        }
    }
    (ModelErrorKind::Network, None)
}

/// The error, what caused it, and so on. An `io::Error` leaves out what it wraps when it is asked for
/// its source.
fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'e (dyn StdError + 'static) = *error;
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

/// What a connection is, however it was made.
trait Io: Read + Write + Connection + Unpin + Send + 'static {}

impl<T: Read + Write + Connection + Unpin + Send + 'static> Io for T {}

/// A connection.
pub(super) struct Stream {
    io: Box<dyn Io>,
    /// Whether a proxy is told with each request where that goes.
    is_forwarded: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = self.io.connected();
        match self.is_forwarded {
            true => connected.proxy(true),
            false => connected,
        }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write_vectored(context, pieces)
    }
}
