//! Recording what a chat does, before it is acted on.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Acting, PendingCall, Round};
use crate::Message;
use crate::store::{Change, ChatStore, Lease, StoreError, StoreErrorKind, patiently};

/// What a store knows of a chat, under the lease by which it is told more.
pub(crate) struct Journal {
    store: Arc<dyn ChatStore>,
    lease: Lease,
    /// How long the store may be away before the run gives up.
    patience: Duration,
    deadlines: Deadlines,
    /// Whether another process may run the chat by now.
    lost: Arc<AtomicBool>,
    /// How many changes were recorded under the lease.
    changes: u64,
    messages: usize,
    calls: Vec<PendingCall>,
    /// What was taken of the inbox and is not yet recorded as taken.
    taken: Vec<u64>,
}

impl Journal {
    /// The journal of a chat that was just loaded.
    pub(crate) fn new(
        store: Arc<dyn ChatStore>,
        lease: Lease,
        patience: Duration,
        messages: usize,
        calls: Vec<PendingCall>,
    ) -> Self {
        Journal {
            store,
            lease,
            patience,
            deadlines: Deadlines::default(),
            lost: Arc::default(),
            changes: 0,
            messages,
            calls,
            taken: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, number: u64) {
        self.taken.push(number);
    }

    /// Until when the calls that run now should have ended.
    pub(crate) fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// To be set when another process may run the chat.
    pub(crate) fn lost(&self) -> Arc<AtomicBool> {
        self.lost.clone()
    }

    /// An error if another process may run the chat by now.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.lost.load(Ordering::SeqCst) {
            true => Err(StoreError::lease_lost(&self.lease.chat)),
            false => Ok(()),
        }
    }

    /// Where a call that is recorded as `pending` gets its transaction.
    pub(crate) fn acting(&self, place: usize, pending: &PendingCall) -> Acting {
        Acting {
            store: self.store.clone(),
            lease: self.lease.clone(),
            patience: self.patience,
            place: u32::try_from(place).unwrap_or(u32::MAX),
            pending: pending.clone(),
            open: Arc::default(),
        }
    }

    /// Records what is new. Nothing is sent where nothing is. While the store is away, it is waited for:
    /// what has happened is kept that long.
    pub(crate) async fn save(
        &mut self,
        messages: &[Message],
        round: &Round,
    ) -> Result<(), StoreError> {
        let added = messages.get(self.messages..).unwrap_or_default();
        let clear = !self.calls.is_empty() && (round.is_empty() || !added.is_empty());
        let known = if clear { &[][..] } else { &self.calls[..] };
        let changed: Vec<(usize, &PendingCall)> = round
            .calls
            .iter()
            .enumerate()
            .filter(|(place, call)| known.get(*place) != Some(call))
            .collect();
        if added.is_empty() && !clear && changed.is_empty() && self.taken.is_empty() {
            return Ok(());
        }
        let calls = changed.into_iter().map(|(place, call)| {
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            Ok((place, stored(call)?))
        });
        let change = Change {
            number: self.changes + 1,
            messages_before: self.messages as u64,
            messages: added.iter().map(stored).collect::<Result<_, _>>()?,
            clear_calls: clear,
            calls: calls.collect::<Result<_, StoreError>>()?,
            taken: self.taken.clone(),
        };
        let (store, lease) = (&self.store, &self.lease);
        patiently(self.patience, || store.save(lease, change.clone())).await?;
        self.changes += 1;
        self.messages = messages.len();
        self.calls.clone_from(&round.calls);
        self.taken.clear();
        Ok(())
    }
}

/// Until when calls should have ended, by their keys. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Deadlines(Arc<Mutex<HashMap<String, Instant>>>);

impl Deadlines {
    /// A call that may run for so long, until what is returned is dropped.
    pub(crate) fn begin(&self, key: &str, limit: Duration) -> Deadline {
        if let Some(at) = Instant::now().checked_add(limit) {
            self.lock().insert(key.to_owned(), at);
        }
        Deadline {
            all: self.clone(),
            key: key.to_owned(),
        }
    }

    /// Whether a call should have ended so long ago: whatever keeps it does not let it be stopped.
    pub(crate) fn is_overdue(&self, by: Duration) -> bool {
        let now = Instant::now();
        self.lock().values().any(|at| *at + by < now)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Deadlines::begin`].
pub(crate) struct Deadline {
    all: Deadlines,
    key: String,
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}

pub(super) fn stored(value: &impl serde::Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(value).map_err(|error| {
        StoreError::new(StoreErrorKind::Corrupt, "the chat cannot be stored").with_source(error)
    })
}
