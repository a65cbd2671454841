//! Calls that a server works on, and what it says of them before they end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
    ErrorData, FormElicitationCapability, GetExtensions, GetMeta, Implementation, JsonRpcMessage,
    ProgressNotificationParam, ProgressToken, RequestId, ServerNotification, TASKS_EXTENSION_ID,
    UrlElicitationCapability,
};
use rmcp::service::{
    InboundStreamOrigin, NotificationContext, RequestContext, RxJsonRpcMessage, TxJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::{mpsc, oneshot, watch};
use tool_core::ToolCall;

/// A question of a server about a call.
pub(super) struct Question {
    pub(super) request: ElicitRequestParams,
    pub(super) reply: oneshot::Sender<ElicitResult>,
}

/// A request that a server works on, and whom it concerns.
pub(super) struct Flight {
    /// The call as the chat knows it now: it changes when a call that paused goes on.
    pub(super) caller: Arc<Mutex<ToolCall>>,
    pub(super) questions: mpsc::UnboundedSender<Question>,
}

/// The requests that a server works on.
#[derive(Default)]
pub(super) struct Flights {
    flying: Mutex<HashMap<RequestId, (Option<ProgressToken>, Arc<Flight>)>>,
    over: watch::Sender<bool>,
    /// Whether the list of tools may be another one by now.
    changed: AtomicBool,
}

impl Flights {
    pub(super) fn land(&self, id: &RequestId) {
        self.lock().remove(id);
    }

    /// Whether the connection has ended.
    pub(super) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    pub(super) fn end(&self) {
        self.over.send_replace(true);
        self.lock().clear();
    }

    pub(super) fn set_changed(&self, changed: bool) -> bool {
        self.changed.swap(changed, Ordering::SeqCst)
    }

    fn progress(&self, progress: ProgressNotificationParam) {
        let caller = self.lock().values().find_map(|(token, flight)| {
            (token.as_ref() == Some(&progress.progress_token)).then(|| flight.caller.clone())
        });
        let Some(caller) = caller else { return };
        let call = caller
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let message = progress.message.unwrap_or_default();
        match progress.total {
            Some(total) => call.progress(message, progress.progress, total),
            None => call.progress_so_far(message, progress.progress),
        }
    }

    /// The request that a question is about. Only over HTTP does a server say; else it is the only one.
    fn concerned(&self, origin: Option<&InboundStreamOrigin>) -> Option<Arc<Flight>> {
        let flying = self.lock();
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            return flying.get(id).map(|(_, flight)| flight.clone());
        }
        let mut flights = flying.values();
        match (flights.next(), flights.next()) {
            (Some((_, flight)), None) => Some(flight.clone()),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, (Option<ProgressToken>, Arc<Flight>)>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transport that sees requests off and hears of their progress, in the order in which it is told: what
/// the SDK hands on, it hands on in no order.
pub(super) struct Tap<T> {
    pub(super) inner: T,
    pub(super) flights: Arc<Flights>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(sent) = &item
            && let Some(flight) = sent.request.extensions().get::<Arc<Flight>>()
        {
            let token = sent.request.get_meta().get_progress_token();
            let flight = (token, flight.clone());
            self.flights.lock().insert(sent.id.clone(), flight);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.flights.end();
                return None;
            };
            let JsonRpcMessage::Notification(notification) = message else {
                return Some(message);
            };
            match notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.flights.progress(progress.params);
                }
                // Nobody listens, and a server may send any number of them.
                ServerNotification::LoggingMessageNotification(_)
                | ServerNotification::ResourceUpdatedNotification(_)
                | ServerNotification::CustomNotification(_) => {}
                other => {
                    return Some(JsonRpcMessage::notification(other));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.flights.end();
        self.inner.close().await
    }
}

/// What answers the server's own requests.
pub(super) struct Handler(pub(super) Arc<Flights>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::default());
        let tasks = (TASKS_EXTENSION_ID.to_owned(), Default::default());
        let capabilities = ClientCapabilities::builder()
            .enable_extensions_with([tasks].into())
            .enable_elicitation_with(elicitation)
            .build();
        ClientConfig::new(
            capabilities,
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        )
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let Some(flight) = self.0.concerned(origin) else {
            let text = "it is not known which of the calls asks; make them one after the other";
            return Err(ErrorData::invalid_request(text, None));
        };
        let (reply, answer) = oneshot::channel();
        // Where nobody reads it, the reply is dropped, which ends the wait.
        let _ = flight.questions.send(Question { request, reply });
        let mut over = self.0.over.subscribe();
        tokio::select! {
            answer = answer => answer.map_err(|_| {
                ErrorData::invalid_request("the call that asks is over", None)
            }),
            _ = over.wait_for(|over| *over) => {
                Err(ErrorData::invalid_request("the connection is over", None))
            }
            () = context.ct.cancelled() => {
                Err(ErrorData::invalid_request("the question was withdrawn", None))
            }
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.set_changed(true);
    }
}
