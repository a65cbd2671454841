//! What a tool reports, on its way to the client.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tool_core::Progress;

/// Where the reports of a call go. The request changes with each answer of the client's user.
#[derive(Clone, Default)]
pub(super) struct Reports(Arc<Mutex<Option<UnboundedSender<Progress>>>>);

impl Reports {
    pub(super) fn report(&self, progress: &Progress) {
        let sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = &*sink {
            // Nobody may listen any more.
            let _ = sink.send(progress.clone());
        }
    }

    /// Sends them to where this gives them back from.
    pub(super) fn listen(&self) -> UnboundedReceiver<Progress> {
        let (sender, receiver) = unbounded_channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }
}

/// The reports of one request.
pub(super) struct Relay {
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    /// The protocol wants values that grow.
    last: f64,
}

impl Relay {
    pub(super) fn new(token: Option<ProgressToken>, peer: Peer<RoleServer>) -> Self {
        Relay {
            token,
            peer,
            last: 0.0,
        }
    }

    pub(super) async fn send(&mut self, progress: Progress) {
        let Some(token) = &self.token else { return };
        let value = progress.value.unwrap_or_default();
        self.last = match value > self.last {
            true => value,
            false if progress.value.is_none() => self.last + 1.0,
            false => self.last.next_up(),
        };
        let mut params = ProgressNotificationParam::new(token.clone(), self.last);
        params.total = progress.total;
        params.message = Some(progress.message).filter(|message| !message.is_empty());
        // A client that is gone needs no progress.
        let _ = self.peer.notify_progress(params).await;
    }
}
