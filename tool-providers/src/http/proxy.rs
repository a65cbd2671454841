//! Which proxy stands before a server.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use tool_core::{ModelError, ModelErrorKind};

use crate::secret::{Secret, Secrets};

/// Which proxy is used.
#[derive(Clone, Default)]
pub(crate) enum ProxyChoice {
    /// The one of the environment, which is not meant for servers on this machine.
    #[default]
    Environment,
    None,
    At(Secret),
}

/// A proxy that stands before a server.
pub(crate) struct Proxy {
    pub(super) uri: Uri,
    pub(super) authorization: Option<HeaderValue>,
    /// User and password of a proxy that does not speak HTTP.
    pub(super) login: Option<(String, String)>,
}

impl ProxyChoice {
    /// The proxy before the server of this address.
    pub(crate) fn before(&self, server: &Uri) -> Result<Option<Proxy>, ModelError> {
        let matcher = match self {
            ProxyChoice::None => return Ok(None),
            ProxyChoice::Environment if is_local(server) => return Ok(None),
            ProxyChoice::Environment => Matcher::from_env(),
            ProxyChoice::At(proxy) => Matcher::builder().all(proxy.reveal()).build(),
        };
        match (matcher.intercept(server), self) {
            (Some(proxy), _) => Ok(Some(Proxy {
                uri: proxy.uri().clone(),
                authorization: proxy.basic_auth().cloned(),
                login: proxy
                    .raw_auth()
                    .map(|(user, password)| (user.to_owned(), password.to_owned())),
            })),
            (None, ProxyChoice::At(_)) => {
                let text = "the address of the proxy cannot be read: write http://host:port";
                Err(ModelError::new(ModelErrorKind::Configuration, text))
            }
            (None, _) => Ok(None),
        }
    }

    /// Adds what no text may show of the proxy before this server.
    pub(crate) fn hide(&self, server: &Uri, secrets: &mut Secrets) {
        if let ProxyChoice::At(address) = self {
            secrets.add_login("the proxy", address.reveal());
        }
        if let Ok(Some(proxy)) = self.before(server) {
            proxy.hide(secrets);
        }
    }
}

impl Proxy {
    /// The tunnel, with what the proxy has to be shown.
    pub(super) fn tunnel<C>(&self, tunnel: Tunnel<C>) -> Tunnel<C> {
        match &self.authorization {
            Some(authorization) => tunnel.with_auth(authorization.clone()),
            None => tunnel,
        }
    }

    /// Adds what no text may show.
    fn hide(&self, secrets: &mut Secrets) {
        if let Some((_, password)) = &self.login {
            secrets.add("password of the proxy, decoded", Secret::new(password));
        }
        let shown = self
            .authorization
            .as_ref()
            .and_then(|value| value.to_str().ok());
        let Some(encoded) = shown.and_then(|value| value.strip_prefix("Basic ")) else {
            return;
        };
        secrets.add("login of the proxy", Secret::new(encoded));
        let login = STANDARD
            .decode(encoded)
            .ok()
            .and_then(|login| String::from_utf8(login).ok());
        if let Some((_, password)) = login.as_deref().and_then(|login| login.split_once(':')) {
            secrets.add("password of the proxy, decoded", Secret::new(password));
        }
    }
}

fn is_local(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
