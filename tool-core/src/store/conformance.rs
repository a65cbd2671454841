//! Whether a store does what the loop relies on, for the tests of stores.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use tool_core::store::{MemoryChats, conformance};
//!
//! conformance::check(MemoryChats::new()).await;
//! # });
//! ```

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{Change, ChatStore, Lease, Next, Sent, StoreError, StoreErrorKind};

/// So long that no lease of it ends while it is looked at.
const LONG: Duration = Duration::from_secs(600);

/// So short that its end can be waited for.
const SHORT: Duration = Duration::from_millis(300);

type Store = Arc<dyn ChatStore>;

/// Checks a store that nobody else uses meanwhile; about five seconds. Its chats remain in it.
///
/// # Panics
///
/// The store does not do what it should; the text says what.
pub async fn check(store: impl ChatStore + 'static) {
    let store: Store = Arc::new(store);
    chats_are_made_once_and_can_be_gone(&store).await;
    a_chat_is_loaded_as_it_was_saved(&store).await;
    changes_are_recorded_once_and_in_order(&store).await;
    one_holds_a_chat(&store).await;
    a_lease_that_ended_can_be_taken_and_then_records_nothing(&store).await;
    leases_are_renewed(&store).await;
    what_is_sent_is_kept_in_order(&store).await;
    of_the_same_key_the_first_counts(&store).await;
    what_was_sent_meanwhile_makes_a_chat_ready(&store).await;
    chats_are_due_when_they_said(&store).await;
    what_is_ready_is_claimed_by_one(&store).await;
    of_many_that_claim_one_wins(&store).await;
    many_can_send_at_once(&store).await;
    who_waits_is_woken(&store).await;
    chats_do_not_mix(&store).await;
}

fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    format!("conformance-{}-{number}", time.as_nanos())
}

async fn made(store: &Store) -> String {
    let chat = name();
    store.create(&chat).await.expect("`create` makes a chat");
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

async fn chats_are_made_once_and_can_be_gone(store: &Store) {
    let chat = made(store).await;
    refused(
        store.create(&chat).await,
        StoreErrorKind::Exists,
        "`create` of a chat that is there",
    );
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert!(stored.messages.is_empty() && stored.calls.is_empty() && stored.inbox.is_empty());
    assert!(!stored.running, "nobody holds a new chat");
    let lease = claimed(store, &chat, LONG).await;
    for _ in 0..2 {
        store
            .delete(&chat)
            .await
            .expect("`delete`, also of what is gone");
    }
    let gone = StoreErrorKind::NotFound;
    refused(store.load(&chat, 0).await, gone, "`load`");
    refused(store.claim(&chat, "me", LONG).await, gone, "`claim`");
    refused(store.send(&chat, Sent::new(json!(1))).await, gone, "`send`");
    refused(
        store.save(&lease, change(1, 0, &[json!(1)])).await,
        gone,
        "`save`",
    );
    refused(
        store.release(&lease, Next::Sent, 0).await,
        gone,
        "`release`",
    );
    let lost = store.renew(&[lease.clone()], LONG).await.expect("`renew`");
    assert_eq!(lost, [lease], "the lease of a chat that is gone is lost");
    store.create(&chat).await.expect("a name can be used again");
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert!(
        stored.messages.is_empty(),
        "nothing is left of the chat before"
    );
}

async fn a_chat_is_loaded_as_it_was_saved(store: &Store) {
    let chat = made(store).await;
    let lease = claimed(store, &chat, LONG).await;
    let odd = json!({ "b": "\u{0}\u{1}\u{7f}é𝄞'\"\\$1%s", "a": [1.5e300, -0.0, u64::MAX, null, {}], "": "" });
    let big = json!("x".repeat(2_000_000));
    let mut first = change(1, 0, &[odd.clone(), big.clone()]);
    first.calls = vec![(0, json!({ "call": 0 })), (1, odd.clone())];
    store.save(&lease, first).await.expect("`save`");
    let mut second = change(2, 2, &[]);
    second.calls = vec![(0, json!({ "call": "changed" }))];
    store
        .save(&lease, second)
        .await
        .expect("`save` without messages");
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert_eq!(
        stored.messages,
        [odd.clone(), big],
        "messages come back as they were"
    );
    assert_eq!(
        stored.messages[0].to_string(),
        odd.to_string(),
        "members keep their order"
    );
    assert_eq!(
        stored.calls,
        [json!({ "call": "changed" }), odd],
        "a call is replaced in its place"
    );
    assert!(stored.running, "it is held");
    assert_eq!(
        store.load(&chat, 1).await.expect("`load`").messages.len(),
        1
    );
    assert!(
        store
            .load(&chat, u64::MAX)
            .await
            .expect("`load`")
            .messages
            .is_empty()
    );

    let mut third = change(3, 2, &[json!("result")]);
    third.clear_calls = true;
    third.calls = vec![(0, json!("next"))];
    store.save(&lease, third).await.expect("`save` that clears");
    let stored = store.load(&chat, 2).await.expect("`load`");
    assert_eq!(
        stored.calls,
        [json!("next")],
        "the calls that were there are gone"
    );
    assert_eq!(stored.messages, [json!("result")]);
}

async fn changes_are_recorded_once_and_in_order(store: &Store) {
    let chat = made(store).await;
    let lease = claimed(store, &chat, LONG).await;
    let one = change(1, 0, &[json!(1)]);
    store.save(&lease, one.clone()).await.expect("`save`");
    store
        .save(&lease, one)
        .await
        .expect("a change that is recorded can be sent again");
    let conflict = StoreErrorKind::Conflict;
    refused(
        store.save(&lease, change(3, 1, &[json!(3)])).await,
        conflict,
        "a change is missing",
    );
    refused(
        store.save(&lease, change(2, 0, &[json!(2)])).await,
        conflict,
        "too few messages",
    );
    refused(
        store.save(&lease, change(2, 2, &[json!(2)])).await,
        conflict,
        "too many messages",
    );
    store
        .save(&lease, change(2, 1, &[json!(2)]))
        .await
        .expect("`save`");
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert_eq!(stored.messages, [json!(1), json!(2)], "each change once");
    store
        .release(&lease, Next::Sent, 0)
        .await
        .expect("`release`");
    store
        .release(&lease, Next::Sent, 0)
        .await
        .expect("`release` can be sent again");
    refused(
        store.save(&lease, change(3, 2, &[json!(3)])).await,
        StoreErrorKind::LeaseLost,
        "`save` after the lease was given back",
    );
    let lease = claimed(store, &chat, LONG).await;
    store
        .save(&lease, change(1, 2, &[json!(3)]))
        .await
        .expect("each lease counts anew");
}

async fn one_holds_a_chat(store: &Store) {
    let chat = made(store).await;
    let first = claimed(store, &chat, LONG).await;
    for owner in ["another", first.owner.as_str()] {
        let second = store.claim(&chat, owner, LONG).await.expect("`claim`");
        assert_eq!(second, None, "a chat that is held is not given to {owner}");
    }
    store
        .release(&first, Next::Sent, 0)
        .await
        .expect("`release`");
    assert!(!store.load(&chat, 0).await.expect("`load`").running);
    let second = claimed(store, &chat, LONG).await;
    assert!(second.token > first.token, "tokens rise");
}

async fn a_lease_that_ended_can_be_taken_and_then_records_nothing(store: &Store) {
    let chat = made(store).await;
    let first = claimed(store, &chat, SHORT).await;
    sleep(SHORT * 2).await;
    assert!(
        !store.load(&chat, 0).await.expect("`load`").running,
        "it has ended"
    );
    // Nobody took it: what its holder did is not lost.
    store
        .save(&first, change(1, 0, &[json!("kept")]))
        .await
        .expect("`save` though it has ended");
    let second = claimed(store, &chat, LONG).await;
    let lost = StoreErrorKind::LeaseLost;
    refused(
        store.save(&first, change(2, 1, &[json!("stale")])).await,
        lost,
        "a stale `save`",
    );
    refused(
        store.save(&first, change(1, 0, &[json!("kept")])).await,
        lost,
        "a stale `save` again",
    );
    refused(
        store.release(&first, Next::Ready, 0).await,
        lost,
        "a stale `release`",
    );
    assert_eq!(
        store.renew(&[first.clone()], LONG).await.expect("`renew`"),
        [first]
    );
    store
        .save(&second, change(1, 1, &[json!("mine")]))
        .await
        .expect("`save`");
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert_eq!(stored.messages, [json!("kept"), json!("mine")]);
}

async fn leases_are_renewed(store: &Store) {
    let chat = made(store).await;
    let lease = claimed(store, &chat, SHORT).await;
    let until = Instant::now() + SHORT * 4;
    while Instant::now() < until {
        let lost = store
            .renew(std::slice::from_ref(&lease), LONG)
            .await
            .expect("`renew`");
        assert!(lost.is_empty());
        sleep(SHORT / 3).await;
    }
    assert_eq!(
        store.claim(&chat, "another", LONG).await.expect("`claim`"),
        None
    );
    assert!(
        store
            .renew(&[], LONG)
            .await
            .expect("`renew` of none")
            .is_empty()
    );
    store
        .release(&lease, Next::Sent, 0)
        .await
        .expect("`release`");
    let lost = store
        .renew(std::slice::from_ref(&lease), LONG)
        .await
        .expect("`renew`");
    assert_eq!(
        lost,
        [lease],
        "a lease that was given back is no longer held"
    );
}

async fn what_is_sent_is_kept_in_order(store: &Store) {
    let chat = made(store).await;
    for number in 0..5 {
        let sent = store
            .send(&chat, Sent::new(json!(number)))
            .await
            .expect("`send`");
        assert_eq!(sent, None, "each counts that has no key");
    }
    let inbox = store.load(&chat, 0).await.expect("`load`").inbox;
    let bodies: Vec<&Value> = inbox.iter().map(|(_, sent)| &sent.body).collect();
    assert_eq!(
        bodies,
        [&json!(0), &json!(1), &json!(2), &json!(3), &json!(4)]
    );
    assert!(
        inbox.windows(2).all(|two| two[0].0 < two[1].0),
        "numbers rise"
    );
    let last = store
        .last_sent(&[chat.clone(), name()])
        .await
        .expect("`last_sent`");
    assert_eq!(last, [inbox[4].0, 0], "the last of each chat");
    let lease = claimed(store, &chat, LONG).await;
    let mut takes = change(1, 0, &[]);
    takes.taken = vec![inbox[0].0, inbox[2].0];
    store.save(&lease, takes).await.expect("`save` that takes");
    let left = store.load(&chat, 0).await.expect("`load`").inbox;
    assert_eq!(left, [inbox[1].clone(), inbox[3].clone(), inbox[4].clone()]);
}

async fn of_the_same_key_the_first_counts(store: &Store) {
    let chat = made(store).await;
    let first = Sent::once("decision", json!({ "approve": true }));
    let other = Sent::once("decision", json!({ "approve": false }));
    assert_eq!(
        store.send(&chat, first.clone()).await.expect("`send`"),
        None
    );
    assert_eq!(
        store.send(&chat, first.clone()).await.expect("`send`"),
        None,
        "the same again"
    );
    assert_eq!(
        store.send(&chat, other.clone()).await.expect("`send`"),
        Some(first.clone())
    );
    let inbox = store.load(&chat, 0).await.expect("`load`").inbox;
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].1, first);
    let lease = claimed(store, &chat, LONG).await;
    let mut takes = change(1, 0, &[]);
    takes.taken = vec![inbox[0].0];
    store.save(&lease, takes).await.expect("`save` that takes");
    assert_eq!(
        store.send(&chat, other).await.expect("`send`"),
        Some(first),
        "also once it is taken"
    );
    // The same key is another one in another chat.
    let elsewhere = made(store).await;
    let sent = Sent::once("decision", json!(1));
    assert_eq!(store.send(&elsewhere, sent).await.expect("`send`"), None);

    let mut sending = JoinSet::new();
    for number in 0..8 {
        let (store, chat) = (store.clone(), elsewhere.clone());
        sending.spawn(async move { store.send(&chat, Sent::once("race", json!(number))).await });
    }
    let sent = sending.join_all().await;
    let won = sent.iter().filter(|first| matches!(first, Ok(None)));
    assert_eq!(
        won.count(),
        1,
        "of those at once one is the first: {sent:?}"
    );
    assert_eq!(
        store.load(&elsewhere, 0).await.expect("`load`").inbox.len(),
        2
    );
}

/// Takes what is ready and holds it; whether the chat is among it.
async fn is_ready(store: &Store, chat: &str) -> Option<Lease> {
    let leases = store
        .claim_ready(&name(), LONG, 10_000)
        .await
        .expect("`claim_ready`");
    leases.into_iter().find(|lease| lease.chat == chat)
}

async fn what_was_sent_meanwhile_makes_a_chat_ready(store: &Store) {
    let chat = made(store).await;
    assert_eq!(
        is_ready(store, &chat).await,
        None,
        "a new chat has nothing to do"
    );
    store
        .send(&chat, Sent::new(json!(1)))
        .await
        .expect("`send`");
    let lease = is_ready(store, &chat)
        .await
        .expect("what was sent makes it ready");
    assert_eq!(is_ready(store, &chat).await, None, "it is held");
    let seen = store.load(&chat, 0).await.expect("`load`").inbox[0].0;
    store
        .send(&chat, Sent::new(json!(2)))
        .await
        .expect("`send` while it is held");
    store
        .release(&lease, Next::Sent, seen)
        .await
        .expect("`release`");
    let lease = is_ready(store, &chat)
        .await
        .expect("more was sent than the holder has seen");
    let seen = store.load(&chat, 0).await.expect("`load`").inbox[1].0;
    store
        .release(&lease, Next::Sent, seen)
        .await
        .expect("`release`");
    assert_eq!(
        is_ready(store, &chat).await,
        None,
        "all was seen, though not taken"
    );
    let lease = claimed(store, &chat, LONG).await;
    store
        .release(&lease, Next::Sent, 0)
        .await
        .expect("`release`");
    assert_eq!(
        is_ready(store, &chat).await,
        None,
        "what was seen once was seen"
    );
}

async fn chats_are_due_when_they_said(store: &Store) {
    let chat = made(store).await;
    let lease = claimed(store, &chat, LONG).await;
    store
        .release(&lease, Next::Ready, 0)
        .await
        .expect("`release`");
    let lease = is_ready(store, &chat).await.expect("it is ready at once");
    store
        .release(&lease, Next::After(SHORT), 0)
        .await
        .expect("`release`");
    assert_eq!(is_ready(store, &chat).await, None, "it is not due yet");
    sleep(SHORT * 2).await;
    let lease = is_ready(store, &chat).await.expect("it is due");
    store
        .release(&lease, Next::After(LONG), 0)
        .await
        .expect("`release`");
    store
        .send(&chat, Sent::new(json!(1)))
        .await
        .expect("`send`");
    let lease = is_ready(store, &chat)
        .await
        .expect("what is sent does not wait");
    store
        .release(&lease, Next::Sent, 1)
        .await
        .expect("`release`");
    assert_eq!(
        is_ready(store, &chat).await,
        None,
        "an earlier time is forgotten"
    );

    let lost = claimed(store, &chat, SHORT).await;
    assert_eq!(is_ready(store, &chat).await, None, "it is held");
    sleep(SHORT * 2).await;
    let lease = is_ready(store, &chat).await.expect("its holder is gone");
    assert!(lease.token > lost.token);
}

async fn what_is_ready_is_claimed_by_one(store: &Store) {
    let mut chats = HashSet::new();
    for _ in 0..40 {
        let chat = made(store).await;
        store
            .send(&chat, Sent::new(json!(1)))
            .await
            .expect("`send`");
        chats.insert(chat);
    }
    let mut claiming = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        claiming.spawn(async move {
            let mut leases = Vec::new();
            loop {
                let some = store
                    .claim_ready(&name(), LONG, 3)
                    .await
                    .expect("`claim_ready`");
                assert!(some.len() <= 3, "no more than was asked for");
                if some.is_empty() {
                    return leases;
                }
                leases.extend(some);
            }
        });
    }
    let leases: Vec<Lease> = claiming.join_all().await.into_iter().flatten().collect();
    let mut claimed: Vec<&String> = leases.iter().map(|lease| &lease.chat).collect();
    claimed.retain(|chat| chats.contains(*chat));
    assert_eq!(claimed.len(), 40, "each once: {claimed:?}");
    assert_eq!(
        claimed.into_iter().collect::<HashSet<_>>().len(),
        40,
        "each once"
    );
    assert!(
        store
            .claim_ready("me", LONG, 0)
            .await
            .expect("`claim_ready` of none")
            .is_empty()
    );
}

async fn of_many_that_claim_one_wins(store: &Store) {
    for _ in 0..5 {
        let chat = made(store).await;
        let mut claiming = JoinSet::new();
        for _ in 0..8 {
            let (store, chat) = (store.clone(), chat.clone());
            claiming.spawn(async move {
                let lease = store.claim(&chat, &name(), LONG).await.expect("`claim`");
                if let Some(lease) = &lease {
                    let saved = store.save(lease, change(1, 0, &[json!(lease.owner)])).await;
                    saved.expect("who has the lease can record");
                }
                lease.is_some()
            });
        }
        let won = claiming.join_all().await.into_iter().filter(|won| *won);
        assert_eq!(won.count(), 1, "one has it");
        assert_eq!(
            store.load(&chat, 0).await.expect("`load`").messages.len(),
            1
        );
    }
}

async fn many_can_send_at_once(store: &Store) {
    let chat = made(store).await;
    let lease = claimed(store, &chat, LONG).await;
    let mut sending = JoinSet::new();
    for number in 0..30_u64 {
        let (store, chat) = (store.clone(), chat.clone());
        sending.spawn(async move { store.send(&chat, Sent::new(json!(number))).await });
    }
    for number in 1..=10 {
        let saved = store
            .save(&lease, change(number, number - 1, &[json!(number)]))
            .await;
        saved.expect("`save` while others send");
    }
    for sent in sending.join_all().await {
        sent.expect("`send` while others do");
    }
    let stored = store.load(&chat, 0).await.expect("`load`");
    let numbers: HashSet<u64> = stored.inbox.iter().map(|(number, _)| *number).collect();
    let bodies: HashSet<String> = stored
        .inbox
        .iter()
        .map(|(_, sent)| sent.body.to_string())
        .collect();
    assert_eq!(
        (numbers.len(), bodies.len()),
        (30, 30),
        "all are kept, with numbers of their own"
    );
    assert_eq!(stored.messages.len(), 10);
}

async fn who_waits_is_woken(store: &Store) {
    let began = Instant::now();
    store.wait(Duration::from_millis(50)).await.expect("`wait`");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "`wait` waits no longer than it was told to"
    );
    let chat = made(store).await;
    let waits = store.clone();
    // Whether the waiting begins before what is sent is not known: so more is sent until it ends.
    let waiting = tokio::spawn(async move { waits.wait(LONG).await });
    let woken = timeout(Duration::from_secs(20), async {
        while !waiting.is_finished() {
            store
                .send(&chat, Sent::new(json!(1)))
                .await
                .expect("`send`");
            sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(woken.await.is_ok(), "what is sent wakes who waits");
}

async fn chats_do_not_mix(store: &Store) {
    let long = "é".repeat(200);
    let names = [name(), name() + "'; --", name() + " %_\n\t", name() + &long];
    let mut leases = Vec::new();
    for (number, chat) in names.iter().enumerate() {
        store.create(chat).await.expect("`create` with any name");
        store
            .send(chat, Sent::new(json!(number)))
            .await
            .expect("`send`");
        leases.push(claimed(store, chat, LONG).await);
    }
    for (number, lease) in leases.iter().enumerate() {
        let mut saves = change(1, 0, &[json!(number)]);
        saves.calls = vec![(0, json!(number))];
        store.save(lease, saves).await.expect("`save`");
    }
    for (number, chat) in names.iter().enumerate() {
        let stored = store.load(chat, 0).await.expect("`load`");
        assert_eq!(stored.messages, [json!(number)], "{chat}");
        assert_eq!(stored.calls, [json!(number)], "{chat}");
        assert_eq!(stored.inbox.len(), 1, "{chat}");
        assert_eq!(stored.inbox[0].1.body, json!(number), "{chat}");
    }
}
