//! Who serves models. A vendor is data; [`Provider`] is what all of them are.

mod address;
mod anthropic;
mod api;
mod compatible;
mod deepseek;
mod gemini;
mod mistral;
mod model;
mod ollama;
mod openai;
mod openrouter;
mod xai;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use tool_core::{ModelError, ModelErrorKind};

use crate::http::{HttpClient, ProxyChoice, Settings, Timeouts};
use crate::protocol::Protocol;
use crate::recording::{Recorder, Replay, Traffic};
use crate::secret::{Secret, Secrets};
use address::Address;

pub use anthropic::Anthropic;
pub use api::Api;
pub use compatible::Compatible;
pub use deepseek::DeepSeek;
pub use gemini::Gemini;
pub use mistral::Mistral;
pub use model::ChatModel;
pub use ollama::Ollama;
pub use openai::OpenAi;
pub use openrouter::OpenRouter;
pub use xai::XAi;

/// The vendors, in the order in which [`from_env`](crate::from_env) looks for them.
pub(crate) const VENDORS: [&Vendor; 8] = [
    &openai::VENDOR,
    &anthropic::VENDOR,
    &gemini::VENDOR,
    &openrouter::VENDOR,
    &mistral::VENDOR,
    &deepseek::VENDOR,
    &xai::VENDOR,
    &ollama::VENDOR,
];

/// How often a request is made again unless it is said otherwise.
const RETRIES: u32 = 2;

/// What is known of a vendor.
#[derive(Debug)]
pub(crate) struct Vendor {
    pub(crate) name: &'static str,
    /// Where it is, unless it is said otherwise.
    pub(crate) address: &'static str,
    /// The path of the API on a server whose address has none.
    pub(crate) path: &'static str,
    /// The environment variables that hold a key, an address, and the name of a model.
    pub(crate) key_variables: &'static [&'static str],
    pub(crate) address_variables: &'static [&'static str],
    pub(crate) model_variable: &'static str,
    /// The model where none is named; `None`: the first that the server lists.
    pub(crate) model: Option<&'static str>,
    /// What the vendor's own tools make of an address.
    pub(crate) complete: fn(&str) -> String,
    /// What is spoken there.
    pub(crate) api: Api,
    /// What is spoken at another address that is given for it.
    pub(crate) api_elsewhere: Api,
    pub(crate) auth: Auth,
}

/// Where a request carries the key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Auth {
    /// In `authorization`, after the word `Bearer`.
    Bearer,
    /// In a header of this name.
    Header(&'static str),
}

/// A server that answers, and how to talk to it.
///
/// ```
/// use tool_providers::OpenAi;
///
/// let model = OpenAi::new("sk-…").model("gpt-5-mini");
/// ```
#[derive(Clone)]
pub struct Provider {
    vendor: &'static Vendor,
    key: Option<Secret>,
    /// The address as it was given.
    address: Option<String>,
    headers: Vec<(String, Secret)>,
    api: Option<Api>,
    settings: Settings,
    retries: u32,
    tape: Tape,
    /// Made when it is first needed, and shared by all models of this provider.
    server: Arc<OnceLock<Result<Arc<Server>, Fault>>>,
}

/// Whether traffic is kept or replayed.
#[derive(Clone)]
enum Tape {
    Off,
    Record(Arc<Recorder>),
    Replay(Replay),
}

/// A server that can be talked to.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: Address,
    pub(crate) headers: HeaderMap,
    pub(crate) traffic: Traffic,
    /// How long an answer may be silent.
    pub(crate) silence: Duration,
    pub(crate) protocol: Box<dyn Protocol>,
    pub(crate) retries: u32,
}

/// Why a provider cannot be talked to; the error is made anew for each request.
#[derive(Clone, Debug)]
pub(crate) struct Fault(Arc<str>);

impl Fault {
    pub(crate) fn error(&self) -> ModelError {
        ModelError::new(ModelErrorKind::Configuration, &*self.0)
    }
}

impl Provider {
    pub(crate) fn of(vendor: &'static Vendor) -> Self {
        Provider {
            vendor,
            key: None,
            address: None,
            headers: Vec::new(),
            api: None,
            settings: Settings::default(),
            retries: RETRIES,
            tape: Tape::Off,
            server: Arc::default(),
        }
    }

    /// What the environment says of a vendor. A vendor that needs a key needs none at an address that
    /// the environment gives.
    pub(crate) fn from_variables(
        vendor: &'static Vendor,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let set = |name: &&str| variable(name).filter(|value| !value.trim().is_empty());
        let mut provider = Provider::of(vendor);
        provider.key = vendor.key_variables.iter().find_map(set).map(Secret::from);
        provider.address = vendor.address_variables.iter().find_map(set);
        match (
            vendor.key_variables.first(),
            &provider.key,
            &provider.address,
        ) {
            (Some(variable), None, None) => {
                let text = format!("set the environment variable {variable}");
                Err(ModelError::new(ModelErrorKind::Configuration, text).with_provider(vendor.name))
            }
            _ => Ok(provider),
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn key(self, key: impl Into<Secret>) -> Self {
        self.changed(|provider| provider.key = Some(key.into()))
    }

    /// Sets the address, with or without a slash at its end. Where it has no path, the path of the
    /// vendor's API is added: `/v1` with most.
    #[must_use]
    pub fn base_url(self, address: impl Into<String>) -> Self {
        self.changed(|provider| provider.address = Some(address.into()))
    }

    /// Adds a header to every request. Its value is treated as a key is: it is never shown.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.changed(|provider| provider.headers.push((name.into(), value.into())))
    }

    /// Says what the server speaks, and in which dialect.
    ///
    /// ```
    /// use tool_providers::protocol::chat_completions::Dialect;
    /// use tool_providers::{Api, OpenAi};
    ///
    /// let provider = OpenAi::new("sk-…").api(Api::ChatCompletions(Dialect::OPENAI));
    /// ```
    #[must_use]
    pub fn api(self, api: Api) -> Self {
        self.changed(|provider| provider.api = Some(api))
    }

    /// What the server speaks: what was said, else what the vendor speaks at its own address or at
    /// another.
    pub fn spoken(&self) -> &Api {
        match (&self.api, &self.address) {
            (Some(api), _) => api,
            (None, Some(address)) if !self.is_own(address) => &self.vendor.api_elsewhere,
            (None, _) => &self.vendor.api,
        }
    }

    /// Whether an address is the vendor's own.
    fn is_own(&self, address: &str) -> bool {
        let host = |address: &str| {
            let address = Address::parse(address, "").ok()?;
            Some(address.server().to_owned())
        };
        host(address).is_some_and(|given| Some(given) == host(self.vendor.address))
    }

    /// Sets how long the server may take.
    #[must_use]
    pub fn timeouts(self, timeouts: Timeouts) -> Self {
        self.changed(|provider| provider.settings.timeouts = timeouts)
    }

    /// Sets how often a request that failed is made again: twice, unless it is said otherwise.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        self.changed(|provider| provider.retries = retries)
    }

    /// Trusts the certificates of this PEM too, beside those that the system trusts: for servers whose
    /// certificate comes from an authority of your own. The system's are those of the file and folder
    /// that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, where these are set.
    ///
    /// A PEM that holds no certificate is an error of the first request.
    ///
    /// ```no_run
    /// use tool_providers::Compatible;
    ///
    /// let authority = std::fs::read("authority.pem")?;
    /// let provider = Compatible::at("https://llm.example.com").root_certificate(authority);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[must_use]
    pub fn root_certificate(self, pem: impl AsRef<[u8]>) -> Self {
        self.changed(|provider| provider.settings.roots.push(pem.as_ref().into()))
    }

    /// Reaches the server through this proxy: `http://host:port`, `https://…` or `socks5://…`, with
    /// `user:password@` before the host where it asks for that. What stands there is treated as a key
    /// is: it is never shown. The name of the server is looked up by the proxy.
    ///
    /// Where nothing is said, the variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are
    /// heeded, but for servers on this machine. An address that cannot be read, or of another scheme, is
    /// an error of the first request.
    ///
    /// ```
    /// use tool_providers::OpenAi;
    ///
    /// let provider = OpenAi::new("sk-…").proxy("http://user:password@proxy.example.com:3128");
    /// ```
    #[must_use]
    pub fn proxy(self, address: impl Into<Secret>) -> Self {
        let choice = ProxyChoice::At(address.into());
        self.changed(|provider| provider.settings.proxy = choice)
    }

    /// Reaches the server directly, whatever the environment says.
    #[must_use]
    pub fn no_proxy(self) -> Self {
        self.changed(|provider| provider.settings.proxy = ProxyChoice::None)
    }

    /// Writes what is asked and answered to a file, without keys: see [`recording`](crate::recording).
    /// A file that is there is replaced by the first answer. A file that cannot be written is an error
    /// of the first request.
    #[must_use]
    pub fn record_to(self, path: impl Into<PathBuf>) -> Self {
        let recorder = Arc::new(Recorder::new(path.into()));
        self.changed(|provider| provider.tape = Tape::Record(recorder))
    }

    /// Answers from a recording, without a network: see [`recording`](crate::recording). It is given by
    /// its path, or as a [`Replay`], which tells what is left of it. Retries do not wait.
    ///
    /// A request that was not recorded is a [`Configuration`](ModelErrorKind::Configuration) error that
    /// says where it differs.
    #[must_use]
    pub fn replay_from(self, recording: impl Into<Replay>) -> Self {
        let replay = recording.into();
        self.changed(|provider| provider.tape = Tape::Replay(replay))
    }

    /// A model of this provider. All models of one provider share its connections.
    ///
    /// A wrong address or key is reported by the first request.
    pub fn model(&self, name: impl Into<String>) -> ChatModel {
        ChatModel::named(self.server(), self.secrets(), self.vendor.name, name.into())
    }

    /// The first model that the server lists, found out by the first request. For servers of one
    /// model.
    pub fn first_model(&self) -> ChatModel {
        ChatModel::first(self.server(), self.secrets(), self.vendor.name)
    }

    /// What no text may show.
    fn secrets(&self) -> Arc<Secrets> {
        let mut secrets = Secrets::default();
        if let Some(key) = &self.key {
            secrets.add("key", key.clone());
        }
        for (name, value) in &self.headers {
            secrets.add_header(name, value);
        }
        if let Ok(address) = self.parsed_address().and_then(|address| address.at("")) {
            self.settings.proxy.hide(&address, &mut secrets);
        }
        secrets.add_query("the address", self.address.as_deref().unwrap_or_default());
        secrets.into()
    }

    /// Where it is, as far as that can be told.
    pub(crate) fn location(&self) -> String {
        match self.parsed_address() {
            Ok(address) => address.to_string(),
            Err(_) => "an address that cannot be read".into(),
        }
    }

    fn changed(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self.server = Arc::default();
        self
    }

    fn server(&self) -> Result<Arc<Server>, Fault> {
        let make = || match self.connect() {
            Ok(server) => Ok(Arc::new(server)),
            Err(error) => Err(Fault(error.message().into())),
        };
        self.server.get_or_init(make).clone()
    }

    fn parsed_address(&self) -> Result<Address, ModelError> {
        let address = self.address.as_deref().unwrap_or(self.vendor.address);
        Address::parse(&(self.vendor.complete)(address), self.vendor.path)
    }

    fn connect(&self) -> Result<Server, ModelError> {
        let address = self.parsed_address()?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let (name, value) = match self.vendor.auth {
                Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", key.reveal())),
                Auth::Header(name) => (HeaderName::from_static(name), key.reveal().to_owned()),
            };
            headers.insert(name, secret_header("the key", &value)?);
        }
        for (name, value) in &self.headers {
            let what = format!("the header `{name}`");
            let value = secret_header(&what, value.reveal())?;
            let name = HeaderName::try_from(name).map_err(|_| unsendable(&what))?;
            headers.insert(name, value);
        }
        Ok(Server {
            headers,
            traffic: self.traffic(&address)?,
            silence: self.settings.timeouts.silence,
            protocol: self.spoken().protocol(&self.host(&address)),
            retries: self.retries,
            address,
        })
    }

    fn traffic(&self, address: &Address) -> Result<Traffic, ModelError> {
        let http = || HttpClient::new(&address.at("")?, &self.settings);
        Ok(match &self.tape {
            Tape::Off => Traffic::Network(http()?),
            Tape::Record(recorder) => Traffic::Recorded(http()?, recorder.clone()),
            Tape::Replay(replay) => Traffic::Replayed(replay.clone()),
        })
    }

    /// Whose answers are replayed as they came: a vendor's wherever it is reached, another server's
    /// at its address.
    fn host(&self, address: &Address) -> String {
        match self.vendor.address.is_empty() {
            true => address.to_string(),
            false => self.vendor.name.into(),
        }
    }
}

impl Vendor {
    /// Whether the environment names it.
    pub(crate) fn is_set(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
        let names = self
            .address_variables
            .iter()
            .copied()
            .chain(self.key_variables.iter().copied());
        let mut names =
            names.filter(|name| variable(name).is_some_and(|value| !value.trim().is_empty()));
        names.next()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("vendor", &self.vendor.name)
            .field("address", &self.location())
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

fn secret_header(what: &str, value: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| unsendable(what))?;
    value.set_sensitive(true);
    Ok(value)
}

fn unsendable(what: &str) -> ModelError {
    let text = format!("{what} holds characters that cannot be sent");
    ModelError::new(ModelErrorKind::Configuration, text)
}
