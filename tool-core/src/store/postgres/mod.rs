//! Chats in a PostgreSQL database.

mod database;
mod transaction;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;
use sqlx::Row;
use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};
use tokio::task::JoinHandle;

use super::changes::Changes;
use super::text::{json, later, milliseconds, signed};
use super::{
    Change, ChatStore, FORMAT, Lease, Next, Sent, StoreError, StoreErrorKind, StoreFuture,
    StoreTransaction, Stored,
};

pub use transaction::PostgresTransaction;

use database::{MIGRATIONS, done};

/// Now, in milliseconds, by the clock of the database.
macro_rules! now {
    () => {
        "(extract(epoch from statement_timestamp()) * 1000)::bigint"
    };
}

/// How long a connection is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the connection that listens is not made again after it broke.
const REST: Duration = Duration::from_secs(1);

/// Chats in a PostgreSQL database, for any number of processes on any number of machines. Clones share the
/// connections.
///
/// What is sent to a chat wakes the workers of all processes (`LISTEN` and `NOTIFY`, on a connection of its
/// own); where that cannot be, behind a pool of transactions for example, they look as often as
/// [`look_every`](crate::Worker::look_every) says.
///
/// For TLS switch on one of the features `tls-*` of `sqlx`. The library needs Rust 1.94.
#[derive(Clone)]
pub struct PostgresChats(Arc<Inner>);

struct Inner {
    pool: PgPool,
    changes: Arc<Changes>,
    listens: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let listens = self
            .listens
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = listens.take() {
            task.abort();
        }
    }
}

impl PostgresChats {
    /// The database at this address, `postgres://user:password@host/database`, brought to the present form.
    /// At most twenty connections are made.
    ///
    /// # Errors
    ///
    /// It cannot be reached, or has a later form.
    pub async fn connect(address: &str) -> Result<Self, StoreError> {
        let options = PgPoolOptions::new()
            .max_connections(20)
            .acquire_timeout(PATIENCE);
        let pool = options.connect(address).await?;
        PostgresChats::migrate(&pool).await?;
        Ok(PostgresChats::of(pool))
    }

    /// The database of these connections. It must have the present form: see
    /// [`migrate`](PostgresChats::migrate).
    ///
    /// # Errors
    ///
    /// It cannot be reached, or has another form.
    pub async fn with_pool(pool: PgPool) -> Result<Self, StoreError> {
        let done = done(&mut *pool.acquire().await?).await?;
        if done > MIGRATIONS.len() {
            return Err(later(done, MIGRATIONS.len()));
        }
        if done < MIGRATIONS.len() {
            let text = format!(
                "the database has the form {done}, not {}: call `PostgresChats::migrate`, or run \
                 `PostgresChats::MIGRATIONS` yourself",
                MIGRATIONS.len()
            );
            return Err(StoreError::new(StoreErrorKind::Corrupt, text));
        }
        Ok(PostgresChats::of(pool))
    }

    fn of(pool: PgPool) -> Self {
        PostgresChats(Arc::new(Inner {
            pool,
            changes: Arc::default(),
            listens: Mutex::default(),
        }))
    }

    /// The connections.
    pub fn pool(&self) -> &PgPool {
        &self.0.pool
    }

    /// Hears what other processes send, on the runtime of whoever waits.
    fn listen(&self) {
        let mut listens = self
            .0
            .listens
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if listens.as_ref().is_none_or(JoinHandle::is_finished) {
            *listens = Some(tokio::spawn(hear(Arc::downgrade(&self.0))));
        }
    }

    /// Why nothing was done under a lease.
    async fn refused(&self, lease: &Lease) -> Result<Held, StoreError> {
        let row =
            sqlx::query("select token, owner is not null, changes from tool_chats where id = $1")
                .bind(&lease.chat)
                .fetch_optional(&self.0.pool)
                .await?;
        let Some(row) = row else {
            return Err(StoreError::not_found(&lease.chat));
        };
        if row.try_get::<i64, _>(0)? != signed(lease.token) {
            return Err(StoreError::lease_lost(&lease.chat));
        }
        Ok(Held {
            is_held: row.try_get(1)?,
            changes: row.try_get(2)?,
        })
    }
}

/// How a chat is whose lease is the last one.
struct Held {
    is_held: bool,
    changes: i64,
}

async fn hear(store: Weak<Inner>) {
    while let Some((pool, changes)) = store
        .upgrade()
        .map(|store| (store.pool.clone(), store.changes.clone()))
    {
        if let Ok(mut listener) = PgListener::connect_with(&pool).await
            && listener.listen("tool_chats").await.is_ok()
        {
            // What was sent while nobody listened.
            changes.tell();
            // It connects anew by itself; an error says that it could not.
            while listener.try_recv().await.is_ok() {
                changes.tell();
            }
        }
        tokio::time::sleep(REST).await;
    }
}

impl ChatStore for PostgresChats {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let made = sqlx::query(
                "insert into tool_chats (id, format, agent) values ($1, $2, $3) on conflict do nothing",
            )
            .bind(chat)
            .bind(i64::from(FORMAT))
            .bind(agent)
            .execute(&self.0.pool)
            .await?;
            match made.rows_affected() {
                0 => Err(StoreError::exists(chat)),
                _ => Ok(()),
            }
        })
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            sqlx::query(
                "with messages as (delete from tool_messages where chat = $1),
                 calls as (delete from tool_calls where chat = $1),
                 inbox as (delete from tool_inbox where chat = $1)
                 delete from tool_chats where id = $1",
            )
            .bind(chat)
            .execute(&self.0.pool)
            .await?;
            Ok(())
        })
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        Box::pin(async move {
            // One statement, so that all is of one moment.
            let rows = sqlx::query(concat!(
                "select 0, format, case when owner is not null and until_ms > ",
                now!(),
                " then 'running' end, last_sent::text, agent from tool_chats where id = $1
                 union all select 1, number, null, body, null from tool_messages where chat = $1 and number >= $2
                 union all select 2, place, null, body, null from tool_calls where chat = $1
                 union all select 3, number, once_key, body, null from tool_inbox where chat = $1 and not taken
                 order by 1, 2"
            ))
            .bind(chat)
            .bind(signed(after))
            .fetch_all(&self.0.pool)
            .await?;
            let mut stored = Stored::default();
            let mut found = false;
            for row in rows {
                let (part, number): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
                let text: Option<String> = row.try_get(2)?;
                let body = || json(chat, row.try_get(3)?);
                match part {
                    0 if number > i64::from(FORMAT) => return Err(StoreError::newer(chat)),
                    0 => {
                        found = true;
                        stored.running = text.is_some();
                        let last: String = row.try_get(3)?;
                        stored.last_sent = last.parse().unwrap_or_default();
                        stored.agent = row.try_get(4)?;
                    }
                    1 => stored.messages.push(body()?),
                    2 => stored.calls.push(body()?),
                    _ => {
                        let key = text.unwrap_or_default();
                        let body = body()?;
                        stored.inbox.push((number as u64, Sent { key, body }));
                    }
                }
            }
            match found {
                true => Ok(stored),
                false => Err(StoreError::not_found(chat)),
            }
        })
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        Box::pin(async move {
            let token: Option<i64> = sqlx::query_scalar(concat!(
                "update tool_chats set token = token + 1, changes = 0, owner = $2, due_ms = null, until_ms = $3 + ",
                now!(),
                " where id = $1 and format <= $4 and (owner is null or until_ms <= ",
                now!(),
                ") returning token"
            ))
            .bind(chat)
            .bind(owner)
            .bind(milliseconds(length))
            .bind(i64::from(FORMAT))
            .fetch_optional(&self.0.pool)
            .await?;
            if let Some(token) = token {
                return Ok(Some(Lease::new(chat, owner, token as u64)));
            }
            let format: Option<i64> =
                sqlx::query_scalar("select format from tool_chats where id = $1")
                    .bind(chat)
                    .fetch_optional(&self.0.pool)
                    .await?;
            match format {
                None => Err(StoreError::not_found(chat)),
                Some(format) if format > i64::from(FORMAT) => Err(StoreError::newer(chat)),
                Some(_) => Ok(None),
            }
        })
    }

    fn claim_ready<'a>(
        &'a self,
        agent: &'a str,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>> {
        Box::pin(async move {
            let rows = sqlx::query(concat!(
                "with ready as (select id from tool_chats where agent = $5 and format <= $4 and ready_ms <= ",
                now!(),
                " order by ready_ms limit $3 for update skip locked)
                 update tool_chats as chats set token = token + 1, changes = 0, owner = $1, due_ms = null, until_ms = $2 + ",
                now!(),
                " from ready where chats.id = ready.id returning chats.id, token"
            ))
            .bind(owner)
            .bind(milliseconds(length))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(i64::from(FORMAT))
            .bind(agent)
            .fetch_all(&self.0.pool)
            .await?;
            let lease = |row: &sqlx::postgres::PgRow| {
                let (chat, token): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
                Ok(Lease::new(chat, owner, token as u64))
            };
            rows.iter().map(lease).collect()
        })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        Box::pin(async move {
            let chats: Vec<&str> = leases.iter().map(|lease| lease.chat.as_str()).collect();
            let tokens: Vec<i64> = leases.iter().map(|lease| signed(lease.token)).collect();
            let renewed: Vec<String> = sqlx::query_scalar(concat!(
                "update tool_chats as chats set until_ms = $3 + ",
                now!(),
                " from unnest($1::text[], $2::bigint[]) as leases (id, token)
                 where chats.id = leases.id and chats.token = leases.token and owner is not null
                 returning chats.id"
            ))
            .bind(chats)
            .bind(tokens)
            .bind(milliseconds(length))
            .fetch_all(&self.0.pool)
            .await?;
            let is_lost = |lease: &&Lease| !renewed.contains(&lease.chat);
            Ok(leases.iter().filter(is_lost).cloned().collect())
        })
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let messages: Vec<String> = change.messages.iter().map(Value::to_string).collect();
            let (places, calls): (Vec<i64>, Vec<String>) = change
                .calls
                .iter()
                .map(|(place, call)| (i64::from(*place), call.to_string()))
                .unzip();
            let taken: Vec<i64> = change.taken.iter().map(|number| signed(*number)).collect();
            let moved: i64 = sqlx::query_scalar(
                "with moved as (
                     update tool_chats set messages = messages + cardinality($5::text[]), changes = $4, format = $10
                     where id = $1 and token = $2 and owner is not null and messages = $3 and changes = $4 - 1
                     returning id),
                 added as (
                     insert into tool_messages (chat, number, body)
                     select id, $3 + place - 1, body
                     from moved, unnest($5::text[]) with ordinality as added (body, place)),
                 cleared as (
                     delete from tool_calls using moved where chat = id and $6 and place <> all ($7::bigint[])),
                 called as (
                     insert into tool_calls (chat, place, body)
                     select id, place, body from moved, unnest($7::bigint[], $8::text[]) as calls (place, body)
                     on conflict (chat, place) do update set body = excluded.body),
                 took as (
                     update tool_inbox set taken = true from moved where chat = id and number = any ($9::bigint[]))
                 select count(*) from moved",
            )
            .bind(&lease.chat)
            .bind(signed(lease.token))
            .bind(signed(change.messages_before))
            .bind(signed(change.number))
            .bind(messages)
            .bind(change.clear_calls)
            .bind(places)
            .bind(calls)
            .bind(taken)
            .bind(i64::from(FORMAT))
            .fetch_one(&self.0.pool)
            .await?;
            if moved > 0 {
                return Ok(());
            }
            let held = self.refused(lease).await?;
            match held.is_held {
                false => Err(StoreError::lease_lost(&lease.chat)),
                true if held.changes == signed(change.number) => Ok(()),
                true => Err(StoreError::conflict(&lease.chat)),
            }
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let wait = match next {
                Next::Sent => None,
                Next::After(wait) => Some(milliseconds(wait)),
                Next::Ready => Some(0),
            };
            let back = sqlx::query(concat!(
                "with back as (
                     update tool_chats set owner = null, until_ms = null, seen = greatest(seen, $4), due_ms = $3 + ",
                now!(),
                " where id = $1 and token = $2 and owner is not null
                     returning last_sent > seen or $3 <= 0 as is_ready)
                 select case when is_ready then pg_notify('tool_chats', '') end::text from back"
            ))
            .bind(&lease.chat)
            .bind(signed(lease.token))
            .bind(wait)
            .bind(signed(seen))
            .fetch_optional(&self.0.pool)
            .await?;
            if back.is_none() && self.refused(lease).await?.is_held {
                return Err(StoreError::lease_lost(&lease.chat));
            }
            Ok(())
        })
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        Box::pin(async move {
            let key = Some(&sent.key).filter(|key| !key.is_empty());
            let sending = sqlx::query(
                "with sent as (
                     update tool_chats set last_sent = last_sent + 1
                     where id = $1 and not exists (select from tool_inbox where chat = $1 and once_key = $2)
                     returning last_sent),
                 kept as (
                     insert into tool_inbox (chat, number, once_key, body) select $1, last_sent, $2, $3 from sent)
                 select pg_notify('tool_chats', '')::text from sent",
            )
            .bind(chat)
            .bind(key)
            .bind(sent.body.to_string())
            .fetch_optional(&self.0.pool)
            .await;
            match sending {
                Ok(Some(_)) => {
                    self.0.changes.tell();
                    return Ok(None);
                }
                Ok(None) => {}
                // Two at once: the other one was the first.
                Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {}
                Err(error) => return Err(error.into()),
            }
            let first: Option<String> =
                sqlx::query_scalar("select body from tool_inbox where chat = $1 and once_key = $2")
                    .bind(chat)
                    .bind(key)
                    .fetch_optional(&self.0.pool)
                    .await?;
            let Some(body) = first else {
                return Err(StoreError::not_found(chat));
            };
            let first = Sent::once(key.cloned().unwrap_or_default(), json(chat, &body)?);
            Ok((first != sent).then_some(first))
        })
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        Box::pin(async move {
            let last: Vec<i64> = sqlx::query_scalar(
                "select coalesce(last_sent, 0) from unnest($1::text[]) with ordinality as asked (id, place)
                 left join tool_chats using (id) order by place",
            )
            .bind(chats)
            .fetch_all(&self.0.pool)
            .await?;
            Ok(last.into_iter().map(|number| number as u64).collect())
        })
    }

    fn begin<'a>(&'a self) -> StoreFuture<'a, Box<dyn StoreTransaction>> {
        Box::pin(async move {
            let transaction = self.0.pool.begin().await?;
            Ok(Box::new(transaction) as Box<dyn StoreTransaction>)
        })
    }

    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        self.listen();
        Box::pin(async move { Ok(self.0.changes.wait(after, limit).await) })
    }
}
