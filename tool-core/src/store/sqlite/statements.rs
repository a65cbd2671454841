//! What is asked of a SQLite file, in a transaction.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::Value;

use crate::store::text::{json, milliseconds, signed};
use crate::store::{Change, FORMAT, Lease, Sent, StoreError, Stored};

/// Now, in milliseconds, by the clock of the database.
pub(super) const NOW: &str = "cast(unixepoch('subsec') * 1000 as integer)";

pub(super) fn check(transaction: &Connection, lease: &Lease) -> Result<(), StoreError> {
    let held: Option<bool> = transaction
        .prepare("select token = ?2 and owner is not null from tool_chats where id = ?1")?
        .query_row(params![lease.chat, signed(lease.token)], |row| row.get(0))
        .optional()?;
    match held {
        Some(true) => Ok(()),
        Some(false) => Err(StoreError::lease_lost(&lease.chat)),
        None => Err(StoreError::not_found(&lease.chat)),
    }
}

/// Some of an agent's chats that have something to do and that nobody holds.
pub(super) fn ready(
    connection: &Connection,
    agent: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    // Each part is found by an index of its own.
    let mut statement = connection.prepare(&format!(
        "select id from tool_chats
         where agent = ?2 and owner is null and last_sent > seen and format <= {FORMAT}
         union all select id from tool_chats
         where agent = ?2 and owner is null and due_ms <= {NOW} and last_sent <= seen and format <= {FORMAT}
         union all select id from tool_chats
         where agent = ?2 and owner is not null and until_ms <= {NOW} and format <= {FORMAT} limit ?1"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let chats = statement.query_map(params![limit, agent], |row| row.get::<_, String>(0))?;
    Ok(chats.collect::<Result<_, _>>()?)
}

pub(super) fn take(
    transaction: &Transaction<'_>,
    chat: &str,
    owner: &str,
    length: Duration,
) -> Result<Lease, StoreError> {
    let token: i64 = transaction
        .prepare(&format!(
            "update tool_chats set token = token + 1, changes = 0, owner = ?2, until_ms = {NOW} + ?3, due_ms = null
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

pub(super) fn load(
    transaction: &Transaction<'_>,
    chat: &str,
    after: u64,
) -> Result<Stored, StoreError> {
    let row: Option<(u32, bool, i64, String)> = transaction
        .prepare(&format!(
            "select format, owner is not null and until_ms > {NOW}, last_sent, agent from tool_chats where id = ?1"
        ))?
        .query_row([chat], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((format, running, last_sent, agent)) = row else {
        return Err(StoreError::not_found(chat));
    };
    if format > FORMAT {
        return Err(StoreError::newer(chat));
    }
    let after = signed(after);
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
        agent,
        messages,
        calls,
        inbox,
        last_sent: last_sent as u64,
        running,
    })
}

pub(super) fn save(
    transaction: &Transaction<'_>,
    lease: &Lease,
    change: &Change,
) -> Result<(), StoreError> {
    check(transaction, lease)?;
    let chat = &lease.chat;
    let before = signed(change.messages_before);
    let number = signed(change.number);
    let moved = transaction
        .prepare(
            "update tool_chats set messages = messages + ?3, changes = ?4, format = ?5
             where id = ?1 and messages = ?2 and changes = ?4 - 1",
        )?
        .execute(params![
            chat,
            before,
            change.messages.len() as i64,
            number,
            FORMAT
        ])?;
    if moved == 0 {
        let is_done = transaction
            .prepare("select changes = ?2 from tool_chats where id = ?1")?
            .query_row(params![chat, number], |row| row.get(0))?;
        return match is_done {
            true => Ok(()),
            false => Err(StoreError::conflict(chat)),
        };
    }
    let mut insert = transaction
        .prepare("insert into tool_messages (chat, number, body) values (?1, ?2, ?3)")?;
    for (index, message) in change.messages.iter().enumerate() {
        insert.execute(params![chat, before + index as i64, message.to_string()])?;
    }
    if change.clear_calls {
        transaction
            .prepare("delete from tool_calls where chat = ?1")?
            .execute([chat])?;
    }
    let mut replace = transaction
        .prepare("insert or replace into tool_calls (chat, place, body) values (?1, ?2, ?3)")?;
    for (place, call) in &change.calls {
        replace.execute(params![chat, place, call.to_string()])?;
    }
    let mut took =
        transaction.prepare("update tool_inbox set taken = 1 where chat = ?1 and number = ?2")?;
    for number in &change.taken {
        took.execute(params![chat, signed(*number)])?;
    }
    Ok(())
}

pub(super) fn send(
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
        .execute(params![chat, number, key, sent.body.to_string()])?;
    transaction
        .prepare("update tool_chats set last_sent = ?2 where id = ?1")?
        .execute(params![chat, number])?;
    Ok(None)
}
