//! Chats in a SQLite file.

mod connection;
mod statements;
mod transaction;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::Notify;

use super::text::{milliseconds, signed};
use super::{
    Change, ChatStore, FORMAT, Lease, Next, Sent, StoreError, StoreErrorKind, StoreFuture,
    StoreTransaction, Stored,
};

pub use transaction::SqliteTransaction;

use connection::{Job, ask, connect, migrate, serve};
use statements::{NOW, check, load, ready, save, send, take};

/// How often another process is asked for news.
const LOOK: Duration = Duration::from_millis(20);

/// Chats in a SQLite file, for any number of processes on one machine. Clones share it.
///
/// What is recorded is on the disk when it counts as recorded (`synchronous = full`).
#[derive(Clone)]
pub struct SqliteChats(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// The thread of the one connection that writes.
    writes: mpsc::Sender<Job>,
    /// The thread of the connection that reads, which waits for no writer.
    reads: mpsc::Sender<Job>,
    changed: Arc<Notify>,
}

impl SqliteChats {
    /// The database at this path, made if it is not there and brought to the present form.
    ///
    /// # Errors
    ///
    /// It cannot be opened, is no database, or has a later form.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_path_buf();
        let mut connection = connect(&path)?;
        migrate(&mut connection)?;
        let reader = connect(&path)?;
        Ok(SqliteChats(Arc::new(Inner {
            path,
            writes: serve(connection)?,
            reads: serve(reader)?,
            changed: Arc::new(Notify::new()),
        })))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Runs a transaction on the thread of the database. It is committed even if nobody waits any more.
    fn transact<'a, T: Send + 'static>(
        &'a self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        Box::pin(ask(&self.0.writes, |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        }))
    }
}

impl ChatStore for SqliteChats {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        let (chat, agent) = (chat.to_owned(), agent.to_owned());
        self.transact(move |transaction| {
            let made = transaction
                .prepare(
                    "insert or ignore into tool_chats (id, format, agent) values (?1, ?2, ?3)",
                )?
                .execute(params![chat, FORMAT, agent])?;
            match made {
                0 => Err(StoreError::exists(&chat)),
                _ => Ok(()),
            }
        })
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        let chat = chat.to_owned();
        self.transact(move |transaction| {
            transaction.execute("delete from tool_chats where id = ?1", [&chat])?;
            for table in ["tool_messages", "tool_calls", "tool_inbox"] {
                transaction.execute(&format!("delete from {table} where chat = ?1"), [&chat])?;
            }
            Ok(())
        })
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        let chat = chat.to_owned();
        Box::pin(ask(&self.0.reads, move |connection| {
            load(&connection.transaction()?, &chat, after)
        }))
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        let (chat, owner) = (chat.to_owned(), owner.to_owned());
        self.transact(move |transaction| {
            let free: Option<(u32, bool)> = transaction
                .prepare(&format!(
                    "select format, owner is null or until_ms <= {NOW} from tool_chats where id = ?1"
                ))?
                .query_row([&chat], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match free {
                None => Err(StoreError::not_found(&chat)),
                Some((format, _)) if format > FORMAT => Err(StoreError::newer(&chat)),
                Some((_, false)) => Ok(None),
                Some((_, true)) => take(transaction, &chat, &owner, length).map(Some),
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
            // Nobody who writes is kept waiting where there is nothing to claim.
            let (agent, owner) = (agent.to_owned(), owner.to_owned());
            let looked = agent.clone();
            let looking = ask(&self.0.reads, move |connection| {
                ready(connection, &looked, 1)
            });
            if looking.await?.is_empty() {
                return Ok(Vec::new());
            }
            let claiming = self.transact(move |transaction| {
                let chats = ready(transaction, &agent, limit)?;
                let leases = chats
                    .iter()
                    .map(|chat| take(transaction, chat, &owner, length));
                leases.collect()
            });
            claiming.await
        })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        let leases = leases.to_vec();
        self.transact(move |transaction| {
            let mut lost = Vec::new();
            for lease in leases {
                let renewed = transaction
                    .prepare(&format!(
                        "update tool_chats set until_ms = {NOW} + ?3
                         where id = ?1 and token = ?2 and owner is not null"
                    ))?
                    .execute(params![
                        lease.chat,
                        signed(lease.token),
                        milliseconds(length)
                    ])?;
                if renewed == 0 {
                    lost.push(lease);
                }
            }
            Ok(lost)
        })
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        let lease = lease.clone();
        self.transact(move |transaction| save(transaction, &lease, &change))
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        let lease = lease.clone();
        let released = self.transact(move |transaction| {
            let is_back: Option<bool> = transaction
                .prepare("select token = ?2 and owner is null from tool_chats where id = ?1")?
                .query_row(params![lease.chat, signed(lease.token)], |row| row.get(0))
                .optional()?;
            if is_back == Some(true) {
                return Ok(());
            }
            check(transaction, &lease)?;
            let wait = match next {
                Next::Sent => None,
                Next::After(wait) => Some(milliseconds(wait)),
                Next::Ready => Some(0),
            };
            transaction
                .prepare(&format!(
                    "update tool_chats set owner = null, until_ms = null, due_ms = {NOW} + ?2,
                     seen = max(seen, ?3) where id = ?1"
                ))?
                .execute(params![lease.chat, wait, signed(seen)])?;
            Ok(())
        });
        let changed = self.0.changed.clone();
        Box::pin(async move {
            released.await?;
            changed.notify_waiters();
            Ok(())
        })
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        let chat = chat.to_owned();
        let sending = self.transact(move |transaction| send(transaction, &chat, &sent));
        let changed = self.0.changed.clone();
        Box::pin(async move {
            let first = sending.await?;
            changed.notify_waiters();
            Ok(first)
        })
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        let chats = chats.to_vec();
        Box::pin(ask(&self.0.reads, move |connection| {
            let mut statement =
                connection.prepare("select last_sent from tool_chats where id = ?1")?;
            let mut last = |chat: &String| {
                let number: Option<i64> =
                    statement.query_row([chat], |row| row.get(0)).optional()?;
                Ok(number.unwrap_or_default() as u64)
            };
            chats.iter().map(&mut last).collect()
        }))
    }

    fn begin<'a>(&'a self) -> StoreFuture<'a, Box<dyn StoreTransaction>> {
        let path = self.0.path.clone();
        Box::pin(async move {
            let begin = move || {
                let connection = connect(&path)?;
                connection.execute_batch("begin immediate")?;
                Ok(SqliteTransaction(connection))
            };
            match tokio::task::spawn_blocking(begin).await {
                Ok(transaction) => transaction.map(|begun| Box::new(begun) as _),
                Err(error) => {
                    let text = "the transaction could not be begun";
                    Err(StoreError::new(StoreErrorKind::Unavailable, text).with_source(error))
                }
            }
        })
    }

    /// Other processes are noticed by the version of the data, which is looked at every 20 milliseconds.
    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let until = tokio::time::Instant::now() + limit;
            let before = match after {
                0 => self.version().await?,
                after => after,
            };
            loop {
                let now = self.version().await?;
                let left = until.saturating_duration_since(tokio::time::Instant::now());
                if now != before || left.is_zero() {
                    return Ok(now);
                }
                let look = self.0.changed.notified();
                let _ = tokio::time::timeout(left.min(LOOK), look).await;
            }
        })
    }
}

impl SqliteChats {
    /// Changes when anything is committed, here or in another process.
    async fn version(&self) -> Result<u64, StoreError> {
        let version = |connection: &mut Connection| {
            Ok(connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0))?)
        };
        Ok(ask(&self.0.reads, version).await? as u64)
    }
}
