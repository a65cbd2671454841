//! Whether a store does what the loop relies on, for the tests of stores.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use tool_core::store::{MemoryChats, conformance};
//!
//! conformance::check(MemoryChats::new()).await;
//! # });
//! ```

mod inbox;
mod leases;
mod ready;
mod record;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{Change, ChatStore, Lease, StoreError, StoreErrorKind};

/// So long that no lease of it ends while it is looked at.
const LONG: Duration = Duration::from_secs(600);

/// So short that its end can be waited for.
const SHORT: Duration = Duration::from_millis(300);

/// Whose chats they are, unless it is said otherwise.
const AGENT: &str = "agent";

type Store = Arc<dyn ChatStore>;

/// Checks a store that nobody else uses meanwhile; about five seconds. Its chats remain in it.
///
/// # Panics
///
/// The store does not do what it should; the text says what.
pub async fn check(store: impl ChatStore + 'static) {
    let store: Store = Arc::new(store);
    record::chats_are_made_once_and_can_be_gone(&store).await;
    record::a_chat_is_loaded_as_it_was_saved(&store).await;
    record::changes_are_recorded_once_and_in_order(&store).await;
    leases::one_holds_a_chat(&store).await;
    leases::a_lease_that_ended_can_be_taken_and_then_records_nothing(&store).await;
    leases::leases_are_renewed(&store).await;
    inbox::what_is_sent_is_kept_in_order(&store).await;
    inbox::of_the_same_key_the_first_counts(&store).await;
    ready::what_was_sent_meanwhile_makes_a_chat_ready(&store).await;
    ready::chats_are_due_when_they_said(&store).await;
    ready::what_is_ready_is_claimed_by_one(&store).await;
    ready::chats_are_claimed_for_their_own_agent(&store).await;
    leases::of_many_that_claim_one_wins(&store).await;
    inbox::many_can_send_at_once(&store).await;
    inbox::who_waits_is_woken(&store).await;
    record::chats_do_not_mix(&store).await;
}

fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    format!("conformance-{}-{number}", time.as_nanos())
}

async fn made(store: &Store) -> String {
    let chat = name();
    let created = store.create(&chat, AGENT).await;
    created.expect("`create` makes a chat");
    chat
}

async fn claimed(store: &Store, chat: &str, length: Duration) -> Lease {
    let lease = store.claim(chat, &name(), length).await;
    let lease = lease.expect("`claim` works on a chat that is there");
    lease.expect("`claim` gives the lease of a chat that nobody holds")
}

fn change(number: u64, before: u64, messages: &[Value]) -> Change {
    Change {
        number,
        messages_before: before,
        messages: messages.to_vec(),
        ..Change::default()
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>, kind: StoreErrorKind, what: &str) {
    let refused = result.as_ref().err().map(StoreError::kind);
    assert_eq!(refused, Some(kind), "{what}: {result:?}");
}
