//! Recording what a chat does, before it is acted on.

use std::sync::Arc;

use serde_json::Value;

use super::{PendingCall, Round};
use crate::Message;
use crate::store::{Change, ChatStore, Lease, StoreError, StoreErrorKind};

/// What a store knows of a chat, under the lease by which it is told more.
pub(crate) struct Journal {
    store: Arc<dyn ChatStore>,
    lease: Lease,
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
        messages: usize,
        calls: Vec<PendingCall>,
    ) -> Self {
        Journal {
            store,
            lease,
            messages,
            calls,
            taken: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, number: u64) {
        self.taken.push(number);
    }

    /// Records what is new. Nothing is sent where nothing is.
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
            messages_before: self.messages as u64,
            messages: added.iter().map(stored).collect::<Result<_, _>>()?,
            clear_calls: clear,
            calls: calls.collect::<Result<_, StoreError>>()?,
            taken: self.taken.clone(),
        };
        self.store.save(&self.lease, change).await?;
        self.messages = messages.len();
        self.calls.clone_from(&round.calls);
        self.taken.clear();
        Ok(())
    }
}

fn stored(value: &impl serde::Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(value).map_err(|error| {
        StoreError::new(StoreErrorKind::Corrupt, "the chat cannot be stored").with_source(error)
    })
}
