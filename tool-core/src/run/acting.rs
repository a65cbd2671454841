//! A call that acts in the transaction in which its result is recorded.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{CallState, PendingCall};
use crate::store::{ChatStore, Lease, StoreError, StoreErrorKind, StoreTransaction, patiently};
use crate::transaction::Lent;
use crate::{Outcome, ToolError, ToolResult};

type Open = Option<Box<dyn StoreTransaction>>;

/// Where a call can get its transaction.
pub(crate) struct Acting {
    pub(super) store: Arc<dyn ChatStore>,
    pub(super) lease: Lease,
    /// How long the store may be away.
    pub(super) patience: Duration,
    pub(super) place: u32,
    /// The call as it is recorded, before its result.
    pub(super) pending: PendingCall,
    pub(super) open: Arc<Mutex<Open>>,
}

impl Acting {
    /// The transaction, begun when it is first asked for.
    pub(super) async fn transaction(&self) -> Result<Box<dyn Lent>, ToolError> {
        let mut open = self.open.clone().lock_owned().await;
        if open.is_none() {
            let begun = patiently(self.patience, || self.store.begin()).await;
            *open = Some(begun.map_err(|error| {
                ToolError::new(format!("no transaction could be begun: {error}")).with_source(error)
            })?);
        }
        Ok(Box::new(Guard(open)))
    }

    /// Records the result of a call that succeeded together with what it did; what one did that failed is
    /// undone. Nothing happens where no transaction was begun.
    pub(super) async fn settle(&self, result: Option<&ToolResult>) -> Result<(), StoreError> {
        let Ok(mut open) = self.open.clone().try_lock_owned() else {
            let text = "the tool still held its transaction when it had returned: it is undone";
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        };
        let Some(transaction) = open.take() else {
            return Ok(());
        };
        let Some(result) = result.filter(|result| result.outcome == Outcome::Ok) else {
            return Ok(());
        };
        let done = PendingCall {
            state: CallState::Done(result.clone()),
            ..self.pending.clone()
        };
        let done = super::journal::stored(&done)?;
        transaction.commit(&self.lease, self.place, done).await
    }
}

struct Guard(OwnedMutexGuard<Open>);

impl Lent for Guard {
    fn inner(&self) -> Option<&(dyn Any + Send)> {
        self.0.as_ref().map(|open| open.inner())
    }

    fn inner_mut(&mut self) -> Option<&mut (dyn Any + Send)> {
        self.0.as_mut().map(|open| open.inner_mut())
    }
}
