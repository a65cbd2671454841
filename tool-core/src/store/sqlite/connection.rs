//! The connections to a SQLite file, each on a thread of its own.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::oneshot;

use crate::store::text::later;
use crate::store::{StoreError, StoreErrorKind};

/// How long a transaction waits for another process.
const BUSY: Duration = Duration::from_secs(30);

/// The steps by which a database comes to the present form, in order; each once.
const MIGRATIONS: [&str; 2] = [
    "
    create table tool_chats (
        id text primary key, format integer not null, messages integer not null default 0,
        token integer not null default 0, changes integer not null default 0,
        owner text, until_ms integer, due_ms integer,
        seen integer not null default 0, last_sent integer not null default 0
    ) without rowid;
    create index tool_chats_held on tool_chats (until_ms) where owner is not null;
    create index tool_chats_due on tool_chats (due_ms) where owner is null;
    create index tool_chats_sent on tool_chats (id) where owner is null and last_sent > seen;
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
",
    "
    alter table tool_chats add column agent text not null default '';
    drop index tool_chats_held;
    drop index tool_chats_due;
    drop index tool_chats_sent;
    create index tool_chats_held on tool_chats (agent, until_ms) where owner is not null;
    create index tool_chats_due on tool_chats (agent, due_ms) where owner is null;
    create index tool_chats_sent on tool_chats (agent) where owner is null and last_sent > seen;
",
];

pub(super) type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A thread that works on a connection until nobody can ask it any more.
pub(super) fn serve(mut connection: Connection) -> Result<mpsc::Sender<Job>, StoreError> {
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
pub(super) async fn ask<T: Send + 'static>(
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

pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
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
        return Err(later(done, MIGRATIONS.len()));
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
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => StoreErrorKind::Refused,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Unavailable,
        };
        StoreError::new(kind, format!("the database: {error}")).with_source(error)
    }
}
