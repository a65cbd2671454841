//! One connection to a server, from its start to its end.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, PaginatedRequestParams, ProtocolVersion,
    RequestId, ServerResult, SubscriptionFilter, Tool,
};
use rmcp::service::{PeerRequestOptions, RunningService};
use rmcp::transport::Transport;
use rmcp::{ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, ServiceError};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::child::{Child, LastWords};
use super::flights::{Flight, Flights, Handler, Tap};
use super::remote::{Generation, McpServer, Reach};
use super::{McpError, McpErrorKind};

/// The most tools and pages of tools that a server may have.
const MOST_TOOLS: usize = 10_000;
const MOST_PAGES: usize = 1_000;

/// What a server answers to a request.
pub(super) type Reply =
    std::pin::Pin<Box<dyn Future<Output = Result<ServerResult, ServiceError>> + Send>>;

/// A connection. The server is told to end when the last handle is gone.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub(super) flights: Arc<Flights>,
    pub(super) since: Instant,
    listener: Option<AbortHandle>,
    last_words: LastWords,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

impl Connection {
    pub(super) async fn open(server: &McpServer) -> Result<Self, McpError> {
        let label = server.provisional_label();
        let flights = Arc::new(Flights::default());
        let (service, last_words) = match &server.reach {
            Reach::Process(program) => {
                let (child, last_words) = Child::start(program).map_err(|error| {
                    let text = format!("the MCP server `{label}` could not be started: {error}");
                    McpError::new(McpErrorKind::Start, text).with_source(error)
                })?;
                let words = last_words.clone();
                let opened = serve(server, &label, &flights, child).await;
                // What it wrote may be on its way still.
                if opened.is_err() {
                    tokio::task::yield_now().await;
                }
                let opened = opened.map_err(|error| error.with_last_words(&words.text()));
                (opened?, last_words)
            }
            Reach::Web(address) => {
                let transport = super::web::transport(address)?;
                let opened = serve(server, &label, &flights, transport).await;
                (opened?, LastWords::default())
            }
        };
        flights.set_changed(true);
        let listener = listen(service.peer().clone(), flights.clone());
        Ok(Connection {
            service,
            flights,
            since: Instant::now(),
            listener,
            last_words,
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.flights.is_over() && !self.service.is_transport_closed()
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// What the server calls itself.
    pub(super) fn name(&self) -> Option<String> {
        let info = self.service.peer_info()?;
        info.server_info.as_ref().map(|info| info.name.clone())
    }

    /// The tools that the server has now.
    pub(super) async fn list(&self, server: &str) -> Result<Vec<Tool>, McpError> {
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = self.service.list_tools(Some(params)).await;
            let page = page.map_err(|error| self.failed(server, error))?;
            tools.extend(page.tools);
            match page.next_cursor {
                None => return Ok(tools),
                Some(_) if tools.len() > MOST_TOOLS => break,
                next => cursor = next,
            }
        }
        let text = format!("the list of tools of the MCP server `{server}` does not end");
        Err(McpError::new(McpErrorKind::Protocol, text))
    }

    /// Sends a call.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        flight: Arc<Flight>,
    ) -> Result<(RequestId, Reply), ServiceError> {
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(flight);
        let request = ClientRequest::CallToolRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = self
            .service
            .send_request_with_option(request, options)
            .await?;
        let id = handle.id.clone();
        Ok((id, Box::pin(handle.await_response())))
    }

    pub(super) fn failed(&self, server: &str, error: ServiceError) -> McpError {
        let error = McpError::asking(server, error);
        match error.kind() {
            McpErrorKind::Closed => {
                // Over HTTP nobody else says so.
                self.flights.end();
                error.with_last_words(&self.last_words.text())
            }
            _ => error,
        }
    }
}

async fn serve<T: Transport<RoleClient> + Send + 'static>(
    server: &McpServer,
    label: &str,
    flights: &Arc<Flights>,
    transport: T,
) -> Result<RunningService<RoleClient, Handler>, McpError> {
    let transport = Tap {
        inner: transport,
        flights: flights.clone(),
    };
    let newer = vec![ProtocolVersion::NO_INITIALIZE];
    let older = Some(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let lifecycle = match server.generation {
        Generation::Any => ClientLifecycleMode::Auto {
            preferred_versions: newer,
            legacy_version: older,
        },
        Generation::Stateless => ClientLifecycleMode::Discover {
            preferred_versions: newer,
        },
        Generation::Handshake => ClientLifecycleMode::Initialize,
    };
    let handler = Handler(flights.clone());
    let opening = handler.serve_with_lifecycle(transport, lifecycle);
    match timeout(server.patience, opening).await {
        Ok(opened) => opened.map_err(|error| McpError::connecting(label, error)),
        Err(_) => {
            let text = format!(
                "the MCP server `{label}` did not say within {:?} what it can do",
                server.patience
            );
            Err(McpError::new(McpErrorKind::Timeout, text))
        }
    }
}

/// Hears of other lists of tools, where the server tells only those of them who ask to be told.
fn listen(peer: Peer<RoleClient>, flights: Arc<Flights>) -> Option<AbortHandle> {
    let info = peer.peer_info()?;
    let tells = info.capabilities.tools.as_ref()?.list_changed == Some(true);
    if !tells || info.protocol_version.has_initialize() {
        return None;
    }
    let listening = tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut changes) = peer.listen(filter).await else {
            return;
        };
        while let Ok(Some(_)) = changes.next().await {
            flights.set_changed(true);
        }
    });
    Some(listening.abort_handle())
}
