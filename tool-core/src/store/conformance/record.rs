//! What is recorded of chats.

use serde_json::json;

use super::{AGENT, LONG, Store, change, claimed, made, name, refused};
use crate::store::{Next, Sent, StoreErrorKind};

pub(super) async fn chats_are_made_once_and_can_be_gone(store: &Store) {
    let chat = made(store).await;
    refused(
        store.create(&chat, "another").await,
        StoreErrorKind::Exists,
        "`create` of a chat that is there",
    );
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert!(stored.messages.is_empty() && stored.calls.is_empty() && stored.inbox.is_empty());
    assert_eq!(stored.agent, AGENT, "whose chat it is");
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
    let lost = store
        .renew(std::slice::from_ref(&lease), LONG)
        .await
        .expect("`renew`");
    assert_eq!(lost, [lease], "the lease of a chat that is gone is lost");
    let created = store.create(&chat, "another").await;
    created.expect("a name can be used again");
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert_eq!(stored.agent, "another", "as it was made the last time");
    assert!(
        stored.messages.is_empty(),
        "nothing is left of the chat before"
    );
}

pub(super) async fn a_chat_is_loaded_as_it_was_saved(store: &Store) {
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

pub(super) async fn changes_are_recorded_once_and_in_order(store: &Store) {
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

pub(super) async fn chats_do_not_mix(store: &Store) {
    let long = "é".repeat(200);
    let names = [name(), name() + "'; --", name() + " %_\n\t", name() + &long];
    let mut leases = Vec::new();
    for (number, chat) in names.iter().enumerate() {
        let created = store.create(chat, AGENT).await;
        created.expect("`create` with any name");
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
