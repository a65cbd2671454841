//! What is sent to chats.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{LONG, Store, change, claimed, made, name};
use crate::store::Sent;

pub(super) async fn what_is_sent_is_kept_in_order(store: &Store) {
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
    let stored = store.load(&chat, 0).await.expect("`load`");
    let last = inbox[4].0;
    assert_eq!(stored.last_sent, last, "the last one, taken or not");
    let left = stored.inbox;
    assert_eq!(left, [inbox[1].clone(), inbox[3].clone(), inbox[4].clone()]);
}

pub(super) async fn of_the_same_key_the_first_counts(store: &Store) {
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

pub(super) async fn many_can_send_at_once(store: &Store) {
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

pub(super) async fn who_waits_is_woken(store: &Store) {
    let began = Instant::now();
    store
        .wait(0, Duration::from_millis(50))
        .await
        .expect("`wait`");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "`wait` waits no longer than it was told to"
    );
    let chat = made(store).await;
    let waits = store.clone();
    // Whether the waiting begins before what is sent is not known: so more is sent until it ends.
    let waiting = tokio::spawn(async move { waits.wait(0, LONG).await });
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
