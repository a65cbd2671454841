//! Chats in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::changes::Changes;
use super::{Change, ChatStore, Lease, Next, Sent, StoreError, StoreFuture, Stored};

/// Chats in memory, for tests and for applications that may forget. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryChats(Arc<Inner>);

#[derive(Default)]
struct Inner {
    chats: Mutex<HashMap<String, Entry>>,
    changes: Changes,
}

#[derive(Default)]
struct Entry {
    agent: String,
    messages: Vec<Value>,
    calls: Vec<Value>,
    /// What was sent, and whether it is part of the chat.
    inbox: Vec<(Sent, bool)>,
    /// How much of the inbox its last holder has looked at.
    seen: u64,
    token: u64,
    /// How many changes were recorded under the token.
    changes: u64,
    owner: Option<(String, Instant)>,
    /// When it is ready without anything being sent; `None`: never.
    due: Option<Instant>,
}

impl Entry {
    fn is_held(&self, now: Instant) -> bool {
        self.owner.as_ref().is_some_and(|(_, until)| *until > now)
    }

    fn is_ready(&self, now: Instant) -> bool {
        let crashed = self.owner.is_some();
        let has_mail = self.inbox.len() as u64 > self.seen;
        !self.is_held(now) && (crashed || has_mail || self.due.is_some_and(|due| due <= now))
    }

    fn claim(&mut self, chat: &str, owner: &str, until: Instant) -> Lease {
        self.token += 1;
        self.changes = 0;
        self.owner = Some((owner.to_owned(), until));
        self.due = None;
        Lease::new(chat, owner, self.token)
    }

    fn check(&self, lease: &Lease) -> Result<(), StoreError> {
        match self.token == lease.token && self.owner.is_some() {
            true => Ok(()),
            false => Err(StoreError::lease_lost(&lease.chat)),
        }
    }
}

impl MemoryChats {
    /// No chats.
    pub fn new() -> Self {
        MemoryChats::default()
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        chat: &str,
        work: impl FnOnce(&mut Entry, Instant) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut chats = self.chats();
        let entry = chats
            .get_mut(chat)
            .ok_or_else(|| StoreError::not_found(chat))?;
        work(entry, Instant::now())
    }
}

impl ChatStore for MemoryChats {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut chats = self.chats();
            if chats.contains_key(chat) {
                return Err(StoreError::exists(chat));
            }
            let entry = Entry {
                agent: agent.to_owned(),
                ..Entry::default()
            };
            chats.insert(chat.to_owned(), entry);
            Ok(())
        })
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.chats().remove(chat);
            Ok(())
        })
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        Box::pin(async move {
            self.with(chat, |entry, now| {
                let after = usize::try_from(after).unwrap_or(usize::MAX);
                let inbox = entry
                    .inbox
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, taken))| !taken);
                Ok(Stored {
                    agent: entry.agent.clone(),
                    messages: entry.messages.get(after..).unwrap_or_default().to_vec(),
                    calls: entry.calls.clone(),
                    inbox: inbox
                        .map(|(index, (sent, _))| (index as u64 + 1, sent.clone()))
                        .collect(),
                    last_sent: entry.inbox.len() as u64,
                    running: entry.is_held(now),
                })
            })
        })
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        Box::pin(async move {
            self.with(chat, |entry, now| {
                let free = !entry.is_held(now);
                Ok(free.then(|| entry.claim(chat, owner, now + length)))
            })
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
            let now = Instant::now();
            let mut chats = self.chats();
            let ready = chats
                .iter_mut()
                .filter(|(_, entry)| entry.agent == agent && entry.is_ready(now));
            let leases = ready.take(limit);
            Ok(leases
                .map(|(chat, entry)| entry.claim(chat, owner, now + length))
                .collect())
        })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        Box::pin(async move {
            let mut lost = Vec::new();
            for lease in leases {
                let renewed = self.with(&lease.chat, |entry, now| {
                    entry.check(lease)?;
                    entry.owner = Some((lease.owner.clone(), now + length));
                    Ok(())
                });
                if renewed.is_err() {
                    lost.push(lease.clone());
                }
            }
            Ok(lost)
        })
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.with(&lease.chat, |entry, _| {
                entry.check(lease)?;
                if change.number == entry.changes {
                    return Ok(());
                }
                let is_next = change.number == entry.changes + 1;
                if !is_next || entry.messages.len() as u64 != change.messages_before {
                    return Err(StoreError::conflict(&lease.chat));
                }
                entry.changes = change.number;
                entry.messages.extend(change.messages);
                if change.clear_calls {
                    entry.calls.clear();
                }
                for (place, call) in change.calls {
                    let place = place as usize;
                    if place >= entry.calls.len() {
                        entry.calls.resize(place + 1, Value::Null);
                    }
                    entry.calls[place] = call;
                }
                for number in change.taken {
                    if let Some((_, taken)) = entry.inbox.get_mut(number as usize - 1) {
                        *taken = true;
                    }
                }
                Ok(())
            })
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.with(&lease.chat, |entry, now| {
                if entry.token == lease.token && entry.owner.is_none() {
                    return Ok(());
                }
                entry.check(lease)?;
                entry.owner = None;
                entry.seen = entry.seen.max(seen);
                entry.due = match next {
                    Next::Sent => None,
                    Next::After(wait) => Some(now + wait),
                    Next::Ready => Some(now),
                };
                Ok(())
            })?;
            self.0.changes.tell();
            Ok(())
        })
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        Box::pin(async move {
            let first = self.with(chat, |entry, _| {
                let mut sents = entry.inbox.iter().map(|(sent, _)| sent);
                let same = |known: &&Sent| !sent.key.is_empty() && known.key == sent.key;
                if let Some(first) = sents.find(same) {
                    return Ok((*first != sent).then(|| first.clone()));
                }
                entry.inbox.push((sent, false));
                Ok(None)
            })?;
            self.0.changes.tell();
            Ok(first)
        })
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        Box::pin(async move {
            let known = self.chats();
            let last = |chat: &String| known.get(chat).map_or(0, |entry| entry.inbox.len() as u64);
            Ok(chats.iter().map(last).collect())
        })
    }

    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        Box::pin(async move { Ok(self.0.changes.wait(after, limit).await) })
    }
}
