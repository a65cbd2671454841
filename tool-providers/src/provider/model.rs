//! A model of a provider.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION, USER_AGENT};
use hyper::{HeaderMap, Method, Request, Response, Uri};
use serde::Deserialize;
use tokio::sync::OnceCell;
use tokio::time::sleep;
use tool_core::model::{self, Delta, DeltaSink, Model, ModelFuture};
use tool_core::{AssistantMessage, ModelError, ModelErrorKind};

use super::{Fault, Server};
use crate::http::{BodyReader, Pieces};
use crate::protocol::parse_error;
use crate::retry::{self, Failure};
use crate::sse::Decoder;

/// The longest body of an error that is read.
const LONGEST_ERROR: usize = 1 << 20;

/// The longest event of a stream.
const LONGEST_EVENT: usize = 64 << 20;

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("tool-providers/", env!("CARGO_PKG_VERSION")));

/// A model behind a Chat Completions server.
///
/// It is cheap to clone, and clones share their connections.
#[derive(Clone)]
pub struct ChatModel {
    server: Result<Arc<Server>, Fault>,
    provider: &'static str,
    name: Arc<OnceCell<String>>,
}

impl ChatModel {
    pub(super) fn named(
        server: Result<Arc<Server>, Fault>,
        provider: &'static str,
        name: String,
    ) -> Self {
        ChatModel {
            server,
            provider,
            name: Arc::new(OnceCell::new_with(Some(name))),
        }
    }

    pub(super) fn first(server: Result<Arc<Server>, Fault>, provider: &'static str) -> Self {
        ChatModel {
            server,
            provider,
            name: Arc::default(),
        }
    }

    async fn answer(
        &self,
        request: model::Request<'_>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let server = self.server.as_ref().map_err(Fault::error)?;
        let name = self.name.get_or_try_init(|| server.first_model()).await?;
        let body = Pieces::from(server.protocol.render(name, &request)?);
        let url = server.address.at("/chat/completions")?;
        let mut retries = 0;
        loop {
            let attempt = server.attempt(&url, body.clone(), request.stream, sink);
            let failure = match attempt.await {
                Ok(message) => return Ok(message),
                Err(failure) => failure,
            };
            match retry::delay(&failure, retries, server.retries, retry::jitter()) {
                Some(delay) => sleep(delay).await,
                None => return Err(failure.error),
            }
            retries += 1;
        }
    }
}

impl Model for ChatModel {
    fn name(&self) -> &str {
        self.name
            .get()
            .map_or("the first that is listed", String::as_str)
    }

    fn provider(&self) -> &str {
        self.provider
    }

    fn generate<'a>(
        &'a self,
        request: model::Request<'a>,
        sink: &'a mut DeltaSink<'_>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            self.answer(request, sink).await.map_err(|error| {
                let secrets = self.server.iter().flat_map(|server| &server.secrets);
                secrets
                    .fold(error, |error, secret| secret.scrub(error))
                    .with_provider(self.provider)
            })
        })
    }
}

impl fmt::Debug for ChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatModel")
            .field("provider", &self.provider)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Server {
    async fn attempt(
        &self,
        url: &Uri,
        body: Pieces,
        stream: bool,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, Failure> {
        let response = self.send(Method::POST, url, body, stream).await?;
        let request_id = request_id(response.headers());
        let is_json = media_type(response.headers()).is_some_and(|kind| kind.contains("json"));
        let mut reader = self.http.reader(response.into_body());
        let mut delivered = false;
        let mut sink = |delta: &Delta<'_>| {
            delivered |= !matches!(delta, Delta::Model(_) | Delta::Usage(_));
            sink(delta);
        };
        let read = match is_json {
            true => self.read_whole(&mut reader, None, &mut sink).await,
            false => self.read_stream(reader, &mut sink).await,
        };
        read.map_err(|error| Failure {
            delivered,
            ..Failure::new(match error.request_id() {
                None => error.with_request_id(request_id),
                Some(_) => error,
            })
        })
    }

    /// Sends a request; an answer that is no success is an error.
    async fn send(
        &self,
        method: Method,
        url: &Uri,
        body: Pieces,
        stream: bool,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        let accept = if stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        headers.entry(USER_AGENT).or_insert(AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = self.http.send(request).await?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(self.refusal(response).await),
        }
    }

    async fn refusal(&self, response: Response<Incoming>) -> Failure {
        let (head, body) = response.into_parts();
        let header = |name: &str| head.headers.get(name)?.to_str().ok();
        if head.status.is_redirection() {
            let to = head.headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let text = format!(
                "the server at {} answers from elsewhere: set the address {}",
                self.address,
                to.unwrap_or("that it does not name")
            );
            let error = ModelError::new(ModelErrorKind::Configuration, text);
            return error.with_status(head.status.as_u16()).into();
        }
        // An error whose body breaks off is still that error.
        let body = self.http.reader(body).read(LONGEST_ERROR).await;
        let body = body.ok().flatten().unwrap_or_default();
        let mut error = parse_error(head.status.as_u16(), &body);
        if let Some(delay) = retry::asked_delay(header, SystemTime::now()) {
            error = error.with_retry_after(Some(delay));
        }
        if let Some(id) = request_id(&head.headers) {
            error = error.with_request_id(Some(id));
        }
        Failure {
            should_retry: header("x-should-retry").and_then(|should| should.parse().ok()),
            ..Failure::new(error)
        }
    }

    async fn read_whole(
        &self,
        reader: &mut BodyReader,
        first: Option<Bytes>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let rest = reader.whole().await?;
        match first {
            None => self.protocol.parse(&rest, sink),
            Some(first) => self.protocol.parse(&[first, rest].concat(), sink),
        }
    }

    async fn read_stream(
        &self,
        mut reader: BodyReader,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let mut decoder = Decoder::new();
        let mut stream = self.protocol.stream();
        let mut is_first = true;
        while let Some(bytes) = reader.next().await? {
            // A JSON object in place of events, whatever its header says.
            if std::mem::take(&mut is_first) && bytes.trim_ascii_start().starts_with(b"{") {
                return self.read_whole(&mut reader, Some(bytes), sink).await;
            }
            decoder.push(&bytes, |event| stream.push(event.data, sink))?;
            if stream.is_done() {
                reader.drain().await;
                break;
            }
            if decoder.held() > LONGEST_EVENT {
                let text = format!("an event of the stream is longer than {LONGEST_EVENT} bytes");
                return Err(ModelError::new(ModelErrorKind::Decoding, text));
            }
        }
        stream.finish()
    }

    /// The first model that the server lists.
    async fn first_model(&self) -> Result<String, ModelError> {
        #[derive(Deserialize)]
        struct Listed {
            data: Vec<Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            id: String,
        }
        let url = self.address.at("/models")?;
        let response = self.send(Method::GET, &url, Pieces::default(), false).await;
        let response = response.map_err(|failure| failure.error)?;
        let body = self.http.reader(response.into_body()).whole().await?;
        let first = match serde_json::from_slice::<Listed>(&body) {
            Ok(listed) => listed.data.into_iter().next(),
            Err(_) => None,
        };
        first.map(|entry| entry.id).ok_or_else(|| {
            let text = format!("the server at {} lists no model: name one", self.address);
            ModelError::new(ModelErrorKind::Configuration, text)
        })
    }
}

fn media_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let names = [
        "x-request-id",
        "request-id",
        "x-generation-id",
        "apim-request-id",
        "cf-ray",
    ];
    let mut ids = names
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    ids.next().map(str::to_owned)
}
