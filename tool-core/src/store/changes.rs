//! How those who wait are told that something has happened.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Counts what happened.
pub(super) struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Changes(watch::Sender::new(1))
    }
}

impl Changes {
    /// Something has happened.
    pub(super) fn tell(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    /// Waits until something has happened after this moment, or for `limit` at most; gives the present one.
    pub(super) async fn wait(&self, after: u64, limit: Duration) -> u64 {
        let mut changes = self.0.subscribe();
        let after = match after {
            0 => *changes.borrow_and_update(),
            after => after,
        };
        let _ = timeout(limit, changes.wait_for(|count| *count != after)).await;
        *changes.borrow_and_update()
    }
}
