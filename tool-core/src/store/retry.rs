//! Waiting for a store that is away.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{StoreError, StoreErrorKind, StoreFuture};

/// Does something again until the store is there, or has been away for too long.
pub(crate) async fn patiently<'a, T>(
    patience: Duration,
    mut work: impl FnMut() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    let until = Instant::now() + patience;
    let mut rest = Duration::from_millis(20);
    loop {
        match work().await {
            Err(error) if may_pass(error.kind()) && Instant::now() < until => {
                sleep(rest).await;
                rest = (rest * 2).min(Duration::from_secs(1));
            }
            done => return done,
        }
    }
}

fn may_pass(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::Unavailable | StoreErrorKind::Full)
}
