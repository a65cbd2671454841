//! Where chats are kept, so that they survive their process and can be finished by another.
//!
//! A chat is its messages, the calls of the last answer, and what people sent to it meanwhile: decisions,
//! answers, questions, cancellations. One process at a time runs a chat: it holds a [`Lease`], which it
//! renews and which ends by itself. A process that lost its lease can record nothing more.
//!
//! [`MemoryChats`] keeps chats in memory. With the feature `sqlite` there is a store in a file, for the
//! processes of one machine; with the feature `postgres` one for any number of machines. A store of your own
//! implements [`ChatStore`], and `conformance` (feature `testing`) checks that it does what the loop relies on.

mod changes;
#[cfg(feature = "testing")]
pub mod conformance;
mod error;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod retry;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod text;

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use error::{StoreError, StoreErrorKind};
pub use memory::MemoryChats;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresChats, PostgresTransaction};
pub(crate) use retry::patiently;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteChats, SqliteTransaction};

/// The version of the form in which chats are stored.
pub const FORMAT: u32 = 1;

/// What the methods of [`ChatStore`] return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps chats. Every method is one transaction: it happens as a whole or not at all. Time is the store's
/// own, never that of the process that asks.
pub trait ChatStore: Send + Sync {
    /// Makes an empty chat of the agent of this name; agents that share a store have different ones.
    ///
    /// # Errors
    ///
    /// [`Exists`](StoreErrorKind::Exists), whatever the agent; [`Unavailable`](StoreErrorKind::Unavailable)
    /// and the like, as with every method.
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()>;

    /// Removes a chat, with all that was sent to it. One that is not there is none the less gone. A process
    /// that runs it can record nothing more.
    ///
    /// # Errors
    ///
    /// None of its own.
    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()>;

    /// A chat as it is, without its first `after` messages.
    ///
    /// # Errors
    ///
    /// [`NotFound`](StoreErrorKind::NotFound), [`NewerFormat`](StoreErrorKind::NewerFormat).
    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored>;

    /// Takes the lease of a chat for `owner`, a name that no other process has. `None`: another process
    /// has it.
    ///
    /// # Errors
    ///
    /// [`NotFound`](StoreErrorKind::NotFound), [`NewerFormat`](StoreErrorKind::NewerFormat).
    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>>;

    /// Takes the leases of at most `limit` chats of the agent of this name that have something to do and that
    /// nobody holds. Chats of a later format are left alone.
    ///
    /// # Errors
    ///
    /// None of its own.
    fn claim_ready<'a>(
        &'a self,
        agent: &'a str,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>>;

    /// Makes leases last for `length` from now; gives those that are lost: another process took the chat. A
    /// lease that has ended and that nobody took is still its holder's.
    ///
    /// # Errors
    ///
    /// None of its own.
    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>>;

    /// Records what happened. A change that is recorded already, by its [`number`](Change::number), is not
    /// recorded again, so that one whose answer was lost can be sent again.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`](StoreErrorKind::LeaseLost): nothing was recorded. [`Conflict`](StoreErrorKind::Conflict):
    /// the chat has another number of messages than `change` says, or a change is missing before this one;
    /// nothing was recorded.
    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()>;

    /// Gives a lease back; one that was given back is. `seen` is the number of the last thing sent that the
    /// holder has looked at: if more was sent since, the chat is ready at once, whatever `next` says.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`](StoreErrorKind::LeaseLost).
    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()>;

    /// Sends something to a chat, from any process, whether or not it runs. Of what has the same
    /// [`key`](Sent::key) only the first counts: it is given back if it is another.
    ///
    /// # Errors
    ///
    /// [`NotFound`](StoreErrorKind::NotFound).
    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>>;

    /// The number of the last thing sent to each of these chats; 0 where nothing was, or there is no such
    /// chat.
    ///
    /// # Errors
    ///
    /// None of its own.
    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>>;

    /// Begins a transaction in which a tool can act. Stores that have none need not say so.
    ///
    /// # Errors
    ///
    /// [`Refused`](StoreErrorKind::Refused).
    fn begin<'a>(&'a self) -> StoreFuture<'a, Box<dyn StoreTransaction>> {
        Box::pin(async {
            let text = "this store has no transactions in which a tool could act";
            Err(StoreError::new(StoreErrorKind::Refused, text))
        })
    }

    /// Waits until something may have happened after the moment `after`, or for `limit` at most, and gives the
    /// moment after which to wait the next time; 0 is any moment. What happens between two calls is not
    /// missed so.
    ///
    /// # Errors
    ///
    /// None of its own.
    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64>;
}

impl<S: ChatStore + ?Sized> ChatStore for Arc<S> {
    fn create<'a>(&'a self, chat: &'a str, agent: &'a str) -> StoreFuture<'a, ()> {
        (**self).create(chat, agent)
    }

    fn delete<'a>(&'a self, chat: &'a str) -> StoreFuture<'a, ()> {
        (**self).delete(chat)
    }

    fn load<'a>(&'a self, chat: &'a str, after: u64) -> StoreFuture<'a, Stored> {
        (**self).load(chat, after)
    }

    fn claim<'a>(
        &'a self,
        chat: &'a str,
        owner: &'a str,
        length: Duration,
    ) -> StoreFuture<'a, Option<Lease>> {
        (**self).claim(chat, owner, length)
    }

    fn claim_ready<'a>(
        &'a self,
        agent: &'a str,
        owner: &'a str,
        length: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Lease>> {
        (**self).claim_ready(agent, owner, length, limit)
    }

    fn renew<'a>(&'a self, leases: &'a [Lease], length: Duration) -> StoreFuture<'a, Vec<Lease>> {
        (**self).renew(leases, length)
    }

    fn save<'a>(&'a self, lease: &'a Lease, change: Change) -> StoreFuture<'a, ()> {
        (**self).save(lease, change)
    }

    fn release<'a>(&'a self, lease: &'a Lease, next: Next, seen: u64) -> StoreFuture<'a, ()> {
        (**self).release(lease, next, seen)
    }

    fn send<'a>(&'a self, chat: &'a str, sent: Sent) -> StoreFuture<'a, Option<Sent>> {
        (**self).send(chat, sent)
    }

    fn last_sent<'a>(&'a self, chats: &'a [String]) -> StoreFuture<'a, Vec<u64>> {
        (**self).last_sent(chats)
    }

    fn begin<'a>(&'a self) -> StoreFuture<'a, Box<dyn StoreTransaction>> {
        (**self).begin()
    }

    fn wait<'a>(&'a self, after: u64, limit: Duration) -> StoreFuture<'a, u64> {
        (**self).wait(after, limit)
    }
}

/// A transaction of a store in which a tool acts. Dropped, it is rolled back.
pub trait StoreTransaction: Send {
    /// What the tool works with, of the store's own type.
    fn inner(&self) -> &(dyn Any + Send);

    /// The same, to be changed.
    fn inner_mut(&mut self) -> &mut (dyn Any + Send);

    /// Replaces the call at this place of the last answer, and commits: what the tool did and what is known
    /// of it become true at once.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`](StoreErrorKind::LeaseLost), [`Refused`](StoreErrorKind::Refused): all is rolled back.
    /// [`Unavailable`](StoreErrorKind::Unavailable): it may be committed or rolled back.
    fn commit<'a>(
        self: Box<Self>,
        lease: &'a Lease,
        place: u32,
        call: Value,
    ) -> StoreFuture<'a, ()>
    where
        Self: 'a;
}

/// The right to run a chat, until another process takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The chat.
    pub chat: String,
    /// Who holds it.
    pub owner: String,
    /// Higher with every lease of the chat: what is recorded under an older one is refused.
    pub token: u64,
}

impl Lease {
    /// The lease of this number.
    pub fn new(chat: impl Into<String>, owner: impl Into<String>, token: u64) -> Self {
        Lease {
            chat: chat.into(),
            owner: owner.into(),
            token,
        }
    }
}

/// A chat as it is stored.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stored {
    /// The name of the agent whose chat it is.
    pub agent: String,
    /// The messages, as JSON, from the one that was asked for on.
    pub messages: Vec<Value>,
    /// The calls of the last answer that have no results among the messages, as JSON, in order.
    pub calls: Vec<Value>,
    /// What was sent and is not yet taken, in the order in which it came, with its number.
    pub inbox: Vec<(u64, Sent)>,
    /// The number of the last thing sent, taken or not; 0: nothing was.
    pub last_sent: u64,
    /// Whether a process holds the chat.
    pub running: bool,
}

/// What is recorded at once.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Which change under its lease it is, from 1.
    pub number: u64,
    /// How many messages there are before.
    pub messages_before: u64,
    /// The messages that are added, as JSON.
    pub messages: Vec<Value>,
    /// Whether the calls that were there are gone: their results are among the messages.
    pub clear_calls: bool,
    /// The calls that are new or changed, by their place in the answer, as JSON.
    pub calls: Vec<(u32, Value)>,
    /// The numbers of what was sent that is now part of the chat.
    pub taken: Vec<u64>,
}

/// When a chat is ready that was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// When something is sent to it.
    Sent,
    /// When so much time has passed, or something is sent to it.
    After(Duration),
    /// At once: it was not finished.
    Ready,
}

/// What is sent to a chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sent {
    /// What it is about: only the first with the same one counts. Empty: each counts.
    #[serde(default)]
    pub key: String,
    /// What it says, as JSON.
    pub body: Value,
}

impl Sent {
    /// Something of which each counts.
    pub fn new(body: Value) -> Self {
        Sent {
            key: String::new(),
            body,
        }
    }

    /// Something of which only the first counts.
    pub fn once(key: impl Into<String>, body: Value) -> Self {
        Sent {
            key: key.into(),
            body,
        }
    }
}
