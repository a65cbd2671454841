//! What goes on beside a run: the lease is renewed, and what is sent is noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::mail::Mail;
use crate::CancelHandle;
use crate::store::{ChatStore, Lease};

/// Renews a lease until it is dropped.
pub(super) struct Keeper {
    task: JoinHandle<()>,
    lost: Arc<AtomicBool>,
}

impl Keeper {
    pub(super) fn start(
        store: Arc<dyn ChatStore>,
        lease: Lease,
        length: Duration,
        cancel: CancelHandle,
    ) -> Self {
        let lost = Arc::new(AtomicBool::new(false));
        let seen = lost.clone();
        let task = tokio::spawn(async move {
            let beat = length / 3;
            let mut renewed = tokio::time::Instant::now();
            loop {
                let _ = store.wait(beat).await;
                // Only the messages are not looked at.
                if let Ok(stored) = store.load(&lease.chat, u64::MAX).await {
                    let cancelled = stored.inbox.iter().any(|(_, sent)| {
                        matches!(serde_json::from_value(sent.body.clone()), Ok(Mail::Cancel))
                    });
                    if cancelled {
                        cancel.cancel();
                    }
                }
                if renewed.elapsed() < beat {
                    continue;
                }
                match store.renew(std::slice::from_ref(&lease), length).await {
                    Ok(gone) if gone.is_empty() => renewed = tokio::time::Instant::now(),
                    Ok(_) => break,
                    // The store is away. What was not renewed in time is lost.
                    Err(_) if renewed.elapsed() >= length => break,
                    Err(_) => {}
                }
            }
            seen.store(true, Ordering::SeqCst);
            cancel.cancel();
        });
        Keeper { task, lost }
    }

    /// Whether another process may run the chat by now.
    pub(super) fn has_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}
