//! A model of a provider.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION, USER_AGENT};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::OnceCell;
use tokio::time::sleep;
use tool_core::model::{self, Delta, DeltaSink, Model, ModelFuture};
use tool_core::{AssistantMessage, ModelError, ModelErrorKind};

use super::{Fault, Server};
use crate::http::{Answer, BodyReader, Pieces, REQUEST_IDS};
use crate::protocol::{Framing, parse_error, parse_error_event};
use crate::retry::{self, Failure};
use crate::secret::Secrets;
use crate::sse::Decoder;

/// The longest body of an error that is read.
const LONGEST_ERROR: usize = 1 << 20;

/// The longest event of a stream.
const LONGEST_EVENT: usize = 64 << 20;

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("tool-providers/", env!("CARGO_PKG_VERSION")));

/// A model behind a server.
///
/// It is cheap to clone, and clones share their connections.
#[derive(Clone)]
pub struct ChatModel {
    server: Result<Arc<Server>, Fault>,
    secrets: Arc<Secrets>,
    provider: &'static str,
    name: Arc<OnceCell<String>>,
}

impl ChatModel {
    pub(super) fn named(
        server: Result<Arc<Server>, Fault>,
        secrets: Arc<Secrets>,
        provider: &'static str,
        name: String,
    ) -> Self {
        ChatModel {
            server,
            secrets,
            provider,
            name: Arc::new(OnceCell::new_with(Some(name))),
        }
    }

    pub(super) fn first(
        server: Result<Arc<Server>, Fault>,
        secrets: Arc<Secrets>,
        provider: &'static str,
    ) -> Self {
        ChatModel {
            server,
            secrets,
            provider,
            name: Arc::default(),
        }
    }

    async fn answer(
        &self,
        request: model::Request<'_>,
        secrets: &Arc<Secrets>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let server = self.server.as_ref().map_err(Fault::error)?;
        let name = self
            .name
            .get_or_try_init(|| server.first_model(secrets))
            .await?;
        let body = Pieces::from(server.protocol.render(name, &request)?);
        let url = server
            .address
            .at(&server.protocol.path(name, request.stream))?;
        let ask = Ask {
            method: Method::POST,
            url: &url,
            headers: &server.headers_of(&request),
            body,
            stream: request.stream,
            secrets,
        };
        let mut retries = 0;
        loop {
            match server.attempt(&ask, sink).await {
                Ok(message) => return Ok(message),
                Err(failure) => server.pause(failure, &mut retries).await?,
            }
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

    fn searches_tools(&self) -> bool {
        let server = self.server.as_ref();
        server.is_ok_and(|server| server.protocol.searches_tools())
    }

    fn generate<'a>(
        &'a self,
        request: model::Request<'a>,
        sink: &'a mut DeltaSink<'_>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let secrets = self.secrets.with_remote(&request.options.remote_mcp);
            let answer = self.answer(request, &secrets, sink).await;
            answer.map_err(|error| secrets.scrub(error).with_provider(self.provider))
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

/// What a server is asked, once or again.
struct Ask<'a> {
    method: Method,
    url: &'a Uri,
    headers: &'a HeaderMap,
    body: Pieces,
    stream: bool,
    secrets: &'a Arc<Secrets>,
}

impl Server {
    fn reader(&self, answer: Answer) -> BodyReader {
        BodyReader::new(answer, self.silence)
    }

    /// Waits until a request is made again, if it is.
    async fn pause(&self, failure: Failure, retries: &mut u32) -> Result<(), ModelError> {
        match retry::delay(&failure, *retries, self.retries, retry::jitter()) {
            Some(delay) => {
                if !self.traffic.is_replayed() {
                    sleep(delay).await;
                }
                *retries += 1;
                Ok(())
            }
            None => Err(failure.error),
        }
    }

    async fn attempt(
        &self,
        ask: &Ask<'_>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, Failure> {
        let response = self.send(ask).await?;
        let request_id = request_id(response.headers());
        let kind = media_type(response.headers())
            .unwrap_or_default()
            .to_owned();
        let mut reader = self.reader(response.into_body());
        let mut delivered = false;
        let mut sink = |delta: &Delta<'_>| {
            delivered |= !matches!(delta, Delta::Model(_) | Delta::Usage(_));
            sink(delta);
        };
        let read = match self.protocol.framing() {
            Framing::Lines if ask.stream => self.read_lines(reader, &mut sink).await,
            _ if kind.contains("json") => self.read_whole(&mut reader, Vec::new(), &mut sink).await,
            _ => self.read_stream(reader, &kind, &mut sink).await,
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
    async fn send(&self, ask: &Ask<'_>) -> Result<Response<Answer>, Failure> {
        let mut request = Request::new(ask.body.clone());
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = ask.url.clone();
        let headers = request.headers_mut();
        headers.clone_from(ask.headers);
        let accept = if ask.stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        headers.entry(USER_AGENT).or_insert(AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = self.traffic.send(request, ask.secrets).await?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(self.refusal(response).await),
        }
    }

    async fn refusal(&self, response: Response<Answer>) -> Failure {
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
        let body = self.reader(body).read(LONGEST_ERROR).await;
        let body = body.ok().flatten().unwrap_or_default();
        let mut error = parse_error(head.status.as_u16(), &body);
        if head.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let text = format!("the proxy asks for a login: {}", error.message());
            error = ModelError::new(ModelErrorKind::Auth, text).with_status(head.status.as_u16());
        }
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
        mut start: Vec<u8>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let rest = reader.whole().await?;
        if start.is_empty() {
            return self.protocol.parse(&rest, sink);
        }
        start.extend_from_slice(&rest);
        self.protocol.parse(&start, sink)
    }

    async fn read_stream(
        &self,
        mut reader: BodyReader,
        kind: &str,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let mut decoder = Decoder::new();
        let mut stream = self.protocol.stream();
        let mut blank = Vec::new();
        let mut began = false;
        while let Some(bytes) = reader.next().await? {
            // What the body is shows in its first character, whatever its header says.
            if !began {
                match bytes.trim_ascii_start().first() {
                    None => blank.extend_from_slice(&bytes),
                    Some(b'{' | b'[') => {
                        blank.extend_from_slice(&bytes);
                        return self.read_whole(&mut reader, blank, sink).await;
                    }
                    Some(b'<') => return Err(no_answer(kind, &bytes)),
                    Some(_) => began = true,
                }
            }
            decoder.push(&bytes, |event| match event.name {
                b"error" => Err(parse_error_event(event.data)),
                _ => stream.push(event.data, sink),
            })?;
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

    async fn read_lines(
        &self,
        mut reader: BodyReader,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        let mut stream = self.protocol.stream();
        let mut line = Vec::new();
        while let Some(bytes) = reader.next().await? {
            let mut rest = &bytes[..];
            while let Some(end) = memchr::memchr(b'\n', rest) {
                line.extend_from_slice(&rest[..end]);
                rest = &rest[end + 1..];
                stream.push(&line, sink)?;
                line.clear();
            }
            line.extend_from_slice(rest);
            if stream.is_done() {
                reader.drain().await;
                return stream.finish();
            }
            if line.len() > LONGEST_EVENT {
                let text = format!("a line of the stream is longer than {LONGEST_EVENT} bytes");
                return Err(ModelError::new(ModelErrorKind::Decoding, text));
            }
        }
        stream.push(&line, sink)?;
        stream.finish()
    }

    /// The headers of a request: the provider's, and what its protocol needs.
    fn headers_of(&self, request: &model::Request<'_>) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, value) in self.protocol.headers(request) {
            headers
                .entry(name)
                .or_insert(HeaderValue::from_static(value));
        }
        headers
    }

    /// The first model that the server lists.
    async fn first_model(&self, secrets: &Arc<Secrets>) -> Result<String, ModelError> {
        #[derive(Deserialize)]
        struct Listed {
            data: Vec<Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            id: String,
        }
        let url = self.address.at("/models")?;
        let ask = Ask {
            method: Method::GET,
            url: &url,
            headers: &self.headers,
            body: Pieces::default(),
            stream: false,
            secrets,
        };
        let mut retries = 0;
        let response = loop {
            match self.send(&ask).await {
                Ok(response) => break response,
                Err(failure) => self.pause(failure, &mut retries).await?,
            }
        };
        let body = self.reader(response.into_body()).whole().await?;
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

/// A page for people, from a proxy or a login.
fn no_answer(kind: &str, bytes: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split_whitespace().take(30).collect();
    let excerpt: String = words.join(" ").chars().take(200).collect();
    let kind = if kind.is_empty() { "no type" } else { kind };
    let text = format!("the server sent a page ({kind}) and no answer of a model: {excerpt}");
    ModelError::new(ModelErrorKind::Decoding, text)
}

fn media_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut ids = REQUEST_IDS
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    ids.next().map(str::to_owned)
}
