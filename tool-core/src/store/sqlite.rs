//! Chats in a SQLite file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use super::{
    Change, ChatStore, FORMAT, Lease, Next, Sent, StoreError, StoreErrorKind, StoreFuture, Stored,
};

/// How long a transaction waits for another process.
const BUSY: Duration = Duration::from_secs(30);

/// How often another process is asked for news.
const LOOK: Duration = Duration::from_millis(20);

/// The steps by which a database comes to the present form, in order; each once.
const MIGRATIONS: [&str; 1] = ["
    create table tool_chats (
        id text primary key, format integer not null, messages integer not null default 0,
        token integer not null default 0, owner text, until_ms integer, due_ms integer,
        seen integer not null default 0, last_sent integer not null default 0
    ) without rowid;
    create index tool_chats_ready on tool_chats (until_ms, due_ms);
    create table tool_messages (
        chat text not null, number integer not null, body text not null, primary key (chat, number)
    ) without rowid;
    create table tool_calls (
        chat text not null, place integer not null, body text not null, primary key (chat, place)
    ) without rowid;
    create table tool_inbox (
        chat text not null, number integer not null, once_key text, body text not null,
        taken integer not null default 0, primary key (chat, number)
    ) without rowid;
    create unique index tool_inbox_once on tool_inbox (chat, once_key) where once_key is not null;
"];

/// Now, in milliseconds, by the clock of the database.
const NOW: &str = "cast(unixepoch('subsec') * 1000 as integer)";

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

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

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

/// A thread that works on a connection until nobody can ask it any more.
fn serve(mut connection: Connection) -> Result<mpsc::Sender<Job>, StoreError> {
    let (jobs, work) = mpsc::channel::<Job>();
    let thread = std::thread::Builder::new().name("tool-sqlite".into());
    let spawned = thread.spawn(move || {
        for job in work {
            job(&mut connection);
        }
    });
    match spawned {
        Ok(_) => Ok(jobs),
        Err(error) => {
            let text = "no thread for the database could be made";
            Err(StoreError::new(StoreErrorKind::Unavailable, text).with_source(error))
        }
    }
}

/// Has a thread do a piece of work.
async fn ask<T: Send + 'static>(
    thread: &mpsc::Sender<Job>,
    work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (reply, answer) = oneshot::channel();
    let job: Job = Box::new(move |connection| {
        // Whoever asked may be gone.
        let _ = reply.send(work(connection));
    });
    let gone = || StoreError::new(StoreErrorKind::Unavailable, "the database is closed");
    thread.send(job).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .execute_batch("create table if not exists tool_migrations (number integer primary key)")?;
    let done: i64 = transaction.query_row(
        "select coalesce(max(number), 0) from tool_migrations",
        [],
        |row| row.get(0),
    )?;
    let done = usize::try_from(done).unwrap_or_default();
    if done > MIGRATIONS.len() {
        let text = format!(
            "the database has the form {done}, and this version knows {}: use a later version",
            MIGRATIONS.len()
        );
        return Err(StoreError::new(StoreErrorKind::NewerFormat, text));
    }
    for (index, step) in MIGRATIONS.iter().enumerate().skip(done) {
        transaction.execute_batch(step)?;
        let number = index as i64 + 1;
        transaction.execute("insert into tool_migrations (number) values (?1)", [number])?;
    }
    transaction.commit()?;
    Ok(())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull | ErrorCode::ReadOnly) => StoreErrorKind::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Unavailable,
        };
        StoreError::new(kind, format!("the database: {error}")).with_source(error)
    }
}

fn text(value: &Value) -> String {
    value.to_string()
}

fn json(chat: &str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| {
        let text = format!("the chat `{chat}` cannot be read as it is stored");
        StoreError::new(StoreErrorKind::Corrupt, text).with_source(error)
    })
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 4)
}

fn check(transaction: &Transaction<'_>, lease: &Lease) -> Result<(), StoreError> {
    let held: Option<bool> = transaction
        .prepare(&format!(
            "select token = ?2 and owner is not null and until_ms > {NOW} from tool_chats where id = ?1"
        ))?
        .query_row(params![lease.chat, lease.token as i64], |row| row.get(0))
        .optional()?;
    match held {
        Some(true) => Ok(()),
        Some(false) => Err(StoreError::lease_lost(&lease.chat)),
        None => Err(StoreError::not_found(&lease.chat)),
    }
}

fn take(
    transaction: &Transaction<'_>,
    chat: &str,
    owner: &str,
    length: Duration,
) -> Result<Lease, StoreError> {
    let token: i64 = transaction
        .prepare(&format!(
            "update tool_chats set token = token + 1, owner = ?2, until_ms = {NOW} + ?3, due_ms = null
             where id = ?1 returning token"
        ))?
        .query_row(params![chat, owner, milliseconds(length)], |row| row.get(0))?;
    Ok(Lease::new(chat, owner, token as u64))
}

fn rows(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: impl rusqlite::Params,
    chat: &str,
) -> Result<Vec<Value>, StoreError> {
    let mut statement = transaction.prepare(sql)?;
    let texts = statement.query_map(parameters, |row| row.get::<_, String>(0))?;
    texts.map(|text| json(chat, &text?)).collect()
}

fn load(transaction: &Transaction<'_>, chat: &str, after: u64) -> Result<Stored, StoreError> {
    let row: Option<(u32, bool)> = transaction
        .prepare(&format!(
            "select format, owner is not null and until_ms > {NOW} from tool_chats where id = ?1"
        ))?
        .query_row([chat], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((format, running)) = row else {
        return Err(StoreError::not_found(chat));
    };
    if format > FORMAT {
        let text = format!("the chat `{chat}` was stored by a later version");
        return Err(StoreError::new(StoreErrorKind::NewerFormat, text));
    }
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let messages = rows(
        transaction,
        "select body from tool_messages where chat = ?1 and number >= ?2 order by number",
        params![chat, after],
        chat,
    )?;
    let calls = rows(
        transaction,
        "select body from tool_calls where chat = ?1 order by place",
        params![chat],
        chat,
    )?;
    let mut statement = transaction.prepare(
        "select number, coalesce(once_key, ''), body from tool_inbox where chat = ?1 and taken = 0 order by number",
    )?;
    let sent = statement.query_map([chat], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
        ))
    })?;
    let mut inbox = Vec::new();
    for row in sent {
        let (number, key, body) = row?;
        let body = json(chat, &body)?;
        inbox.push((number as u64, Sent { key, body }));
    }
    Ok(Stored {
        messages,
        calls,
        inbox,
        running,
    })
}

fn save(transaction: &Transaction<'_>, lease: &Lease, change: &Change) -> Result<(), StoreError> {
    check(transaction, lease)?;
    let chat = &lease.chat;
    let before = change.messages_before as i64;
    let added = change.messages.len() as i64;
    let moved = transaction
        .prepare("update tool_chats set messages = messages + ?3 where id = ?1 and messages = ?2")?
        .execute(params![chat, before, added])?;
    if moved == 0 {
        let text = format!("the chat `{chat}` has changed meanwhile");
        return Err(StoreError::new(StoreErrorKind::Conflict, text));
    }
    let mut insert = transaction
        .prepare("insert into tool_messages (chat, number, body) values (?1, ?2, ?3)")?;
    for (index, message) in change.messages.iter().enumerate() {
        insert.execute(params![chat, before + index as i64, text(message)])?;
    }
    if change.clear_calls {
        transaction
            .prepare("delete from tool_calls where chat = ?1")?
            .execute([chat])?;
    }
    let mut replace = transaction
        .prepare("insert or replace into tool_calls (chat, place, body) values (?1, ?2, ?3)")?;
    for (place, call) in &change.calls {
        replace.execute(params![chat, place, text(call)])?;
    }
    let mut took =
        transaction.prepare("update tool_inbox set taken = 1 where chat = ?1 and number = ?2")?;
    for number in &change.taken {
        took.execute(params![chat, *number as i64])?;
    }
    Ok(())
}

fn send(
    transaction: &Transaction<'_>,
    chat: &str,
    sent: &Sent,
) -> Result<Option<Sent>, StoreError> {
    let number: Option<i64> = transaction
        .prepare("select last_sent + 1 from tool_chats where id = ?1")?
        .query_row([chat], |row| row.get(0))
        .optional()?;
    let number = number.ok_or_else(|| StoreError::not_found(chat))?;
    let key = Some(&sent.key).filter(|key| !key.is_empty());
    if let Some(key) = key {
        let first: Option<String> = transaction
            .prepare("select body from tool_inbox where chat = ?1 and once_key = ?2")?
            .query_row([chat, key], |row| row.get(0))
            .optional()?;
        if let Some(body) = first {
            let first = Sent::once(key.clone(), json(chat, &body)?);
            return Ok((first != *sent).then_some(first));
        }
    }
    transaction
        .prepare("insert into tool_inbox (chat, number, once_key, body) values (?1, ?2, ?3, ?4)")?
        .execute(params![chat, number, key, text(&sent.body)])?;
    transaction
        .prepare("update tool_chats set last_sent = ?2 where id = ?1")?
        .execute(params![chat, number])?;
    Ok(None)
}

impl ChatStore for SqliteChats {
    fn create<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        let chat = chat.to_owned();
        self.transact(move |transaction| {
            let made = transaction
                .prepare("insert or ignore into tool_chats (id, format) values (?1, ?2)")?
                .execute(params![chat, FORMAT])?;
            match made {
                0 => {
                    let text = format!("there is a chat `{chat}` already");
                    Err(StoreError::new(StoreErrorKind::Exists, text))
                }
                _ => Ok(()),
            }
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
            let free: Option<bool> = transaction
                .prepare(&format!(
                    "select owner is null or until_ms <= {NOW} from tool_chats where id = ?1"
                ))?
                .query_row([&chat], |row| row.get(0))
                .optional()?;
            match free {
                None => Err(StoreError::not_found(&chat)),
                Some(false) => Ok(None),
                Some(true) => take(transaction, &chat, &owner, length).map(Some),
            }
        })
    }

    fn claim_ready<'a>(
        &'a self,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>> {
        let owner = owner.to_owned();
        self.transact(move |transaction| {
            let mut statement = transaction.prepare(&format!(
                "select id from tool_chats where
                 (owner is not null and until_ms <= {NOW})
                 or (owner is null and (last_sent > seen or due_ms <= {NOW})) limit ?1"
            ))?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let ids = statement.query_map([limit], |row| row.get::<_, String>(0))?;
            let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
            let leases = ids
                .iter()
                .map(|chat| take(transaction, chat, &owner, length));
            leases.collect()
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
                         where id = ?1 and token = ?2 and owner is not null and until_ms > {NOW}"
                    ))?
                    .execute(params![
                        lease.chat,
                        lease.token as i64,
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
            check(transaction, &lease)?;
            let wait = match next {
                Next::Sent => None,
                Next::After(wait) => Some(milliseconds(wait)),
                Next::Ready => Some(0),
            };
            transaction
                .prepare(&format!(
                    "update tool_chats set owner = null, until_ms = null, due_ms = {NOW} + ?2, seen = ?3 where id = ?1"
                ))?
                .execute(params![lease.chat, wait, seen as i64])?;
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

    /// Other processes are noticed by the version of the data, which is looked at every 20 milliseconds.
    fn wait<'a>(&'a self, limit: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let until = tokio::time::Instant::now() + limit;
            let before = self.version().await?;
            loop {
                let left = until.saturating_duration_since(tokio::time::Instant::now());
                if left.is_zero() {
                    return Ok(());
                }
                let woken = tokio::time::timeout(left.min(LOOK), self.0.changed.notified()).await;
                if woken.is_ok() || self.version().await? != before {
                    return Ok(());
                }
            }
        })
    }
}

impl SqliteChats {
    /// Changes when anything is committed, here or in another process.
    async fn version(&self) -> Result<i64, StoreError> {
        let version = |connection: &mut Connection| {
            Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
        };
        ask(&self.0.reads, version).await
    }
}
