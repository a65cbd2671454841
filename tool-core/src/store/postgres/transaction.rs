//! Acting in a PostgreSQL database while a chat of it runs.

use std::any::Any;

use serde_json::Value;
use sqlx::Postgres;

use crate::store::text::signed;
use crate::store::{Lease, StoreError, StoreFuture, StoreTransaction};

/// The transaction in which a tool acts, for [`ToolCall::transaction`](crate::ToolCall::transaction).
pub type PostgresTransaction = sqlx::Transaction<'static, Postgres>;

impl StoreTransaction for PostgresTransaction {
    fn inner(&self) -> &(dyn Any + Send) {
        self
    }

    fn inner_mut(&mut self) -> &mut (dyn Any + Send) {
        self
    }

    fn commit<'a>(
        mut self: Box<Self>,
        lease: &'a Lease,
        place: u32,
        call: Value,
    ) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move {
            // What another process that takes the chat waits for.
            let held: Option<bool> = sqlx::query_scalar(
                "select token = $2 and owner is not null from tool_chats where id = $1 for update",
            )
            .bind(&lease.chat)
            .bind(signed(lease.token))
            .fetch_optional(&mut **self)
            .await?;
            match held {
                Some(true) => {}
                Some(false) => return Err(StoreError::lease_lost(&lease.chat)),
                None => return Err(StoreError::not_found(&lease.chat)),
            }
            sqlx::query("update tool_calls set body = $3 where chat = $1 and place = $2")
                .bind(&lease.chat)
                .bind(i64::from(place))
                .bind(call.to_string())
                .execute(&mut **self)
                .await?;
            Ok((*self).commit().await?)
        })
    }
}
