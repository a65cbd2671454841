//! Acting in a SQLite file while a chat of it runs.

use std::any::Any;

use rusqlite::{Connection, params};
use serde_json::Value;

use super::statements::check;
use crate::store::{Lease, StoreError, StoreErrorKind, StoreFuture, StoreTransaction};

/// The transaction in which a tool acts, for [`ToolCall::transaction`](crate::ToolCall::transaction). It
/// dereferences to the connection. No other process or task writes meanwhile.
#[derive(Debug)]
pub struct SqliteTransaction(pub(super) Connection);

impl std::ops::Deref for SqliteTransaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl StoreTransaction for SqliteTransaction {
    fn inner(&self) -> &(dyn Any + Send) {
        self
    }

    fn inner_mut(&mut self) -> &mut (dyn Any + Send) {
        self
    }

    fn commit<'a>(self: Box<Self>, lease: &'a Lease, place: u32, call: Value) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        let lease = lease.clone();
        Box::pin(async move {
            let commit = move || {
                check(&self.0, &lease)?;
                self.0.execute(
                    "update tool_calls set body = ?3 where chat = ?1 and place = ?2",
                    params![lease.chat, place, call.to_string()],
                )?;
                Ok(self.0.execute_batch("commit")?)
            };
            let done = tokio::task::spawn_blocking(commit).await;
            done.map_err(|error| {
                let text = "the transaction could not be committed";
                StoreError::new(StoreErrorKind::Unavailable, text).with_source(error)
            })?
        })
    }
}
