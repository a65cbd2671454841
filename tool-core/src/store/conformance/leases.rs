//! Who holds a chat.

use std::slice;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{LONG, SHORT, Store, change, claimed, made, name, refused};
use crate::store::{Next, StoreErrorKind};

pub(super) async fn one_holds_a_chat(store: &Store) {
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

pub(super) async fn a_lease_that_ended_can_be_taken_and_then_records_nothing(store: &Store) {
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
        store
            .renew(slice::from_ref(&first), LONG)
            .await
            .expect("`renew`"),
        [first]
    );
    store
        .save(&second, change(1, 1, &[json!("mine")]))
        .await
        .expect("`save`");
    let stored = store.load(&chat, 0).await.expect("`load`");
    assert_eq!(stored.messages, [json!("kept"), json!("mine")]);
}

pub(super) async fn leases_are_renewed(store: &Store) {
    let chat = made(store).await;
    let lease = claimed(store, &chat, SHORT).await;
    let until = Instant::now() + SHORT * 4;
    while Instant::now() < until {
        let lost = store
            .renew(slice::from_ref(&lease), LONG)
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
        .renew(slice::from_ref(&lease), LONG)
        .await
        .expect("`renew`");
    assert_eq!(
        lost,
        [lease],
        "a lease that was given back is no longer held"
    );
}

pub(super) async fn of_many_that_claim_one_wins(store: &Store) {
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
