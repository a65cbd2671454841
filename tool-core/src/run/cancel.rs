//! Stopping a chat from elsewhere.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::watch;

/// Cancels what a chat is doing, from any task or thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<watch::Sender<bool>>);

impl CancelHandle {
    /// Stops the run that goes on now, or the next one if none does. The transcript stays valid: the
    /// call that ran is recorded as cancelled, those that had not started as not started.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

/// The receiving end.
#[derive(Clone, Debug)]
pub(crate) struct Cancellation(Arc<watch::Sender<bool>>);

impl Default for Cancellation {
    fn default() -> Self {
        Cancellation(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancellation {
    pub(crate) fn handle(&self) -> CancelHandle {
        CancelHandle(self.0.clone())
    }

    /// Whether it was asked for; asking is used up.
    pub(crate) fn take(&self) -> bool {
        self.0.send_if_modified(std::mem::take)
    }

    /// Runs `work` unless and until cancelled. `None`: it was, and `work` is dropped.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut receiver = self.0.subscribe();
        let mut cancelled = pin!(receiver.wait_for(|cancelled| *cancelled));
        let mut work = pin!(work);
        poll_fn(|context| match cancelled.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => work.as_mut().poll(context).map(Some),
        })
        .await
    }
}
