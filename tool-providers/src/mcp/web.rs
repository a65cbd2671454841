//! A server that is reached over HTTP, by the client that reaches providers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tool_core::ModelError;

use super::remote::Address;
use super::{McpError, McpErrorKind};
use crate::Secret;
use crate::http::{Answer, BodyReader, HttpClient, Pieces, Settings};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The longest answer, and the longest event.
const LONGEST: usize = 16 << 20;

/// How much is shown of an answer that is none.
const SHOWN: usize = 300;

/// Streams of notifications may be silent for as long as they like; how long a call may take its tool says.
const FOREVER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often a broken stream is taken up again.
const RESUMPTIONS: usize = 3;

type Failure = StreamableHttpError<WebError>;

/// What went wrong under way.
#[derive(Debug)]
pub(super) struct WebError(String);

impl fmt::Display for WebError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for WebError {}

/// The connections to one server.
#[derive(Clone)]
pub(super) struct Web(Arc<HttpClient>);

/// The host of an address, by which a server is called that has no name.
pub(super) fn host(url: &str) -> String {
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host);
    host.unwrap_or(url).to_owned()
}

/// A way to the server of this address.
pub(super) fn transport(address: &Address) -> Result<StreamableHttpClientTransport<Web>, McpError> {
    let configuration = |text: String| McpError::new(McpErrorKind::Configuration, text);
    let url = &address.url;
    let uri: Option<Uri> = url.parse().ok();
    let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let uri = uri.filter(is_http).ok_or_else(|| {
        configuration(format!(
            "`{url}` is no address of an MCP server: write `https://…`"
        ))
    })?;
    let mut settings = Settings::default();
    settings.timeouts.first_byte = FOREVER;
    settings.timeouts.silence = FOREVER;
    let client = HttpClient::new(&uri, &settings);
    let client = client.map_err(|error| configuration(error.to_string()).with_source(error))?;
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let value = HeaderValue::from_str(value.reveal()).ok();
        let (Ok(name), Some(mut value)) = (HeaderName::try_from(name), value) else {
            return Err(configuration(format!(
                "the header `{name}` has a name or a value that HTTP does not allow"
            )));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
    config.auth_header = address
        .token
        .as_ref()
        .map(Secret::reveal)
        .map(str::to_owned);
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(RESUMPTIONS);
    retries.base_duration = Duration::from_millis(200);
    config.retry_config = Arc::new(retries);
    let web = Web(Arc::new(client));
    Ok(StreamableHttpClientTransport::with_client(web, config))
}

impl Web {
    async fn send(
        &self,
        method: Method,
        target: &Target<'_>,
        headers: HashMap<HeaderName, HeaderValue>,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Answer>, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(target.uri)
            .header(ACCEPT, format!("{JSON}, {EVENTS}"));
        if body.is_some() {
            request = request.header(CONTENT_TYPE, JSON);
        }
        if let Some(token) = &target.token {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|_| failure("the token is no header"))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(session) = target.session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(event) = &target.last_event {
            request = request.header("last-event-id", event);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let pieces = body.map(Bytes::from).into_iter().collect::<Vec<_>>();
        let request = request.body(Pieces::from(pieces));
        let request = request.map_err(|error| failure(&error.to_string()))?;
        let response = self.0.send(request).await.map_err(lost)?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let challenge = response.headers().get(WWW_AUTHENTICATE);
                let challenge = challenge.and_then(|value| value.to_str().ok());
                let error = AuthRequiredError::new(challenge.unwrap_or_default().to_owned());
                Err(StreamableHttpError::AuthRequired(error))
            }
            StatusCode::NOT_FOUND if target.session.is_some() => {
                Err(StreamableHttpError::SessionExpired)
            }
            _ => Ok(response),
        }
    }
}

struct Target<'a> {
    uri: &'a str,
    session: Option<&'a str>,
    token: Option<String>,
    last_event: Option<String>,
}

impl StreamableHttpClient for Web {
    type Error = WebError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let target = Target {
            uri: &uri,
            session: session_id.as_deref(),
            token: auth_header,
            last_event: None,
        };
        let body = serde_json::to_vec(&message)?;
        let response = self
            .send(Method::POST, &target, custom_headers, Some(body))
            .await?;
        let status = response.status();
        let kind = kind_of(&response);
        let session = response.headers().get("mcp-session-id");
        let session = session.and_then(|session| session.to_str().ok().map(str::to_owned));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status.is_success() && kind == EVENTS {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let expects_nothing = !matches!(message, JsonRpcMessage::Request(_));
        if status.is_success() && expects_nothing {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let body = whole(response).await?;
        let read = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
        match (read, status.is_success()) {
            (Ok(answer), true) if kind == JSON => {
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            (_, true) => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            (Ok(JsonRpcMessage::Error(mut error)), false) => {
                if let JsonRpcMessage::Request(request) = &message {
                    error.id = Some(request.id.clone());
                }
                let error = JsonRpcMessage::Error(error);
                Ok(StreamableHttpPostResponse::Json(error, session))
            }
            (_, false) => {
                // So says a server of the older generation that it knows no discovery.
                if let JsonRpcMessage::Request(request) = &message
                    && matches!(request.request, ClientRequest::DiscoverRequest(_))
                    && status.is_client_error()
                {
                    let error =
                        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, status.to_string(), None);
                    let error = JsonRpcMessage::error(error, Some(request.id.clone()));
                    return Ok(StreamableHttpPostResponse::Json(error, session));
                }
                let said: String = String::from_utf8_lossy(&body).chars().take(SHOWN).collect();
                let text = format!("HTTP {status}: {said}");
                Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(
                    text,
                )))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let target = Target {
            uri: &uri,
            session: Some(&session_id),
            token: auth_header,
            last_event: None,
        };
        self.send(Method::DELETE, &target, custom_headers, None)
            .await?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let target = Target {
            uri: &uri,
            session: session_id.as_deref(),
            token: auth_header,
            last_event: last_event_id,
        };
        let response = self
            .send(Method::GET, &target, custom_headers, None)
            .await?;
        match response.status() {
            status if status.is_success() && kind_of(&response) == EVENTS => Ok(events(response)),
            status if status.is_success() || status.is_client_error() => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            status => Err(failure(&format!("HTTP {status}"))),
        }
    }
}

/// What an answer is, without what is said of it beside that.
fn kind_of(response: &Response<Answer>) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

async fn whole(response: Response<Answer>) -> Result<Bytes, Failure> {
    let mut reader = BodyReader::new(response.into_body(), FOREVER);
    let body = reader.read(LONGEST).await.map_err(lost)?;
    body.ok_or(StreamableHttpError::ResponseBodyTooLarge { max_size: LONGEST })
}

/// The events of an answer. One that is too long breaks the stream.
fn events(response: Response<Answer>) -> BoxStream<'static, Result<Sse, SseError>> {
    let reader = BodyReader::new(response.into_body(), FOREVER);
    let pieces = unfold((reader, 0_usize), |(mut reader, length)| async move {
        match reader.next().await {
            Ok(None) => None,
            Err(error) => Some((Err(WebError(cause(&error))), (reader, 0))),
            Ok(Some(piece)) => {
                let length = match memchr::memmem::rfind(&piece, b"\n\n") {
                    Some(end) => piece.len() - end,
                    None => length + piece.len(),
                };
                let piece = match length > LONGEST {
                    true => Err(WebError(format!("an event is longer than {LONGEST} bytes"))),
                    false => Ok(piece),
                };
                Some((piece, (reader, length)))
            }
        }
    });
    SseStream::from_bytes_stream(pieces.boxed()).boxed()
}

fn failure(text: &str) -> Failure {
    StreamableHttpError::Client(WebError(text.to_owned()))
}

fn lost(error: ModelError) -> Failure {
    StreamableHttpError::Client(WebError(cause(&error)))
}

/// What is below an error of the client, which speaks of providers.
fn cause(error: &ModelError) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        cause = error.source();
    }
    match text.is_empty() {
        true => error.to_string(),
        false => text,
    }
}
