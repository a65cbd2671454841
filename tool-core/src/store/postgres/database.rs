//! The database: its tables, and what its errors mean.

use sqlx::postgres::PgPool;

use super::PostgresChats;
use crate::store::text::later;
use crate::store::{StoreError, StoreErrorKind};

/// The steps by which a database comes to the present form, in order; each once.
pub(super) const MIGRATIONS: [&str; 2] = [
    "
    create table tool_chats (
        id text primary key, format bigint not null, messages bigint not null default 0,
        token bigint not null default 0, changes bigint not null default 0,
        owner text, until_ms bigint, due_ms bigint,
        seen bigint not null default 0, last_sent bigint not null default 0,
        ready_ms bigint generated always as (case
            when owner is not null then until_ms when last_sent > seen then 0 else due_ms end) stored
    );
    create index tool_chats_ready on tool_chats (ready_ms) where ready_ms is not null;
    create table tool_messages (
        chat text not null, number bigint not null, body text not null, primary key (chat, number)
    );
    create table tool_calls (
        chat text not null, place bigint not null, body text not null, primary key (chat, place)
    );
    create table tool_inbox (
        chat text not null, number bigint not null, once_key text, body text not null,
        taken boolean not null default false, primary key (chat, number)
    );
    create unique index tool_inbox_once on tool_inbox (chat, once_key) where once_key is not null;
    create index tool_inbox_open on tool_inbox (chat) where not taken;
",
    "
    alter table tool_chats add column agent text not null default '';
    drop index tool_chats_ready;
    create index tool_chats_ready on tool_chats (agent, ready_ms) where ready_ms is not null;
",
];

impl PostgresChats {
    /// The SQL that brings an empty database to the present form, step by step, for those who run their
    /// migrations themselves. Each step ends with a row of `tool_migrations (number bigint primary key)`
    /// that says that it is done.
    pub const MIGRATIONS: &'static [&'static str] = &MIGRATIONS;

    /// Brings a database to the present form. Several processes may do so at once.
    ///
    /// # Errors
    ///
    /// It cannot be reached, has a later form, or its user may not make tables.
    pub async fn migrate(pool: &PgPool) -> Result<(), StoreError> {
        let mut transaction = pool.begin().await?;
        sqlx::query("select pg_advisory_xact_lock(7310023)")
            .execute(&mut *transaction)
            .await?;
        sqlx::raw_sql("create table if not exists tool_migrations (number bigint primary key)")
            .execute(&mut *transaction)
            .await?;
        let done = done(&mut transaction).await?;
        if done > MIGRATIONS.len() {
            return Err(later(done, MIGRATIONS.len()));
        }
        for (index, step) in MIGRATIONS.iter().enumerate().skip(done) {
            sqlx::raw_sql(*step).execute(&mut *transaction).await?;
            sqlx::query("insert into tool_migrations (number) values ($1)")
                .bind(index as i64 + 1)
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }
}

pub(super) async fn done(connection: &mut sqlx::PgConnection) -> Result<usize, StoreError> {
    let made: Option<String> = sqlx::query_scalar("select to_regclass('tool_migrations')::text")
        .fetch_one(&mut *connection)
        .await?;
    if made.is_none() {
        return Ok(0);
    }
    let done: i64 = sqlx::query_scalar("select coalesce(max(number), 0) from tool_migrations")
        .fetch_one(connection)
        .await?;
    Ok(usize::try_from(done).unwrap_or_default())
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = match &error {
            sqlx::Error::Database(error) => error.code().map(|code| code.into_owned()),
            _ => None,
        };
        let kind = match code.as_deref() {
            // Full, and read-only.
            Some("53100" | "25006") => StoreErrorKind::Full,
            // No such table or column; no rights.
            Some("42P01" | "42703" | "42501" | "XX001" | "XX002") => StoreErrorKind::Corrupt,
            // A statement of the transaction failed before.
            Some("25P02") => StoreErrorKind::Refused,
            // A text that the database cannot hold, and what breaks a rule of it.
            Some(code)
                if ["22", "23", "54"]
                    .iter()
                    .any(|class| code.starts_with(class)) =>
            {
                StoreErrorKind::Refused
            }
            _ => StoreErrorKind::Unavailable,
        };
        StoreError::new(kind, format!("the database: {error}")).with_source(error)
    }
}
