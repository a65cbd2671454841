//! A call that a server works on, also while the user is asked.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ElicitRequestParams,
    RequestId, ServerResult,
};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tool_core::ToolCall;

use super::connection::{Connection, Reply};
use super::flights::{Flight, Question};

/// What comes of a call next.
pub(super) enum Next {
    Ended(Result<ServerResult, ServiceError>),
    /// The server asks the user, and goes on when it has the answer.
    Asks,
}

/// A call that a server works on. Dropped, it is cancelled there.
pub(super) struct Running {
    pub(super) connection: Arc<Connection>,
    caller: Arc<Mutex<ToolCall>>,
    questions: mpsc::UnboundedReceiver<Question>,
    request: Option<(RequestId, Reply)>,
    /// What the user was asked and has answered.
    pub(super) answered: Vec<ElicitRequestParams>,
    pub(super) open: Option<Question>,
}

impl Running {
    pub(super) async fn start(
        connection: Arc<Connection>,
        params: CallToolRequestParams,
        call: &ToolCall,
    ) -> Result<Self, ServiceError> {
        let (sender, questions) = mpsc::unbounded_channel();
        let caller = Arc::new(Mutex::new(call.clone()));
        let flight = Flight {
            caller: caller.clone(),
            questions: sender,
        };
        let request = connection.call(params, Arc::new(flight)).await?;
        Ok(Running {
            connection,
            caller,
            questions,
            request: Some(request),
            answered: Vec::new(),
            open: None,
        })
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self) -> Next {
        let Some((id, reply)) = &mut self.request else {
            return Next::Ended(Err(ServiceError::TransportClosed));
        };
        let questions = &mut self.questions;
        let next = poll_fn(|context| match reply.as_mut().poll(context) {
            Poll::Ready(reply) => Poll::Ready(Err(reply)),
            Poll::Pending => questions.poll_recv(context).map(Ok),
        });
        match next.await {
            Ok(question) => {
                self.open = question;
                Next::Asks
            }
            Err(reply) => {
                self.connection.flights.land(id);
                self.request = None;
                Next::Ended(reply)
            }
        }
    }

    /// Whether the server still waits for the answer to what it asked.
    pub(super) fn waits(&mut self) -> bool {
        let asks = self
            .open
            .as_ref()
            .is_some_and(|open| !open.reply.is_closed());
        let mut context = Context::from_waker(Waker::noop());
        let works = self
            .request
            .as_mut()
            .is_some_and(|(_, reply)| reply.as_mut().poll(&mut context).is_pending());
        if let (false, Some((id, _))) = (works, &self.request) {
            self.connection.flights.land(id);
            self.request = None;
        }
        asks && works && self.connection.is_alive()
    }

    /// Goes on in the name of the call as the chat knows it now.
    pub(super) fn adopt(&self, call: &ToolCall) {
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = call.clone();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some((id, _)) = self.request.take() else {
            return;
        };
        self.connection.flights.land(&id);
        let reason = "nobody waits for the result any more".to_owned();
        let cancelled = CancelledNotificationParam::new(Some(id), Some(reason));
        let cancelled = CancelledNotification::new(cancelled);
        let peer = self.connection.peer().clone();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                // A server that is gone has nothing to cancel.
                let _ = peer.send_notification(cancelled.into()).await;
            });
        }
    }
}
