//! Which chats are ready.

use std::collections::HashSet;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{AGENT, LONG, SHORT, Store, claimed, made, name};
use crate::store::{Lease, Next, Sent};

/// Takes what is ready and holds it; whether the chat is among it.
async fn is_ready(store: &Store, chat: &str) -> Option<Lease> {
    let leases = store
        .claim_ready(AGENT, &name(), LONG, 10_000)
        .await
        .expect("`claim_ready`");
    leases.into_iter().find(|lease| lease.chat == chat)
}

pub(super) async fn what_was_sent_meanwhile_makes_a_chat_ready(store: &Store) {
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

pub(super) async fn chats_are_due_when_they_said(store: &Store) {
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

pub(super) async fn what_is_ready_is_claimed_by_one(store: &Store) {
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
                    .claim_ready(AGENT, &name(), LONG, 3)
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
            .claim_ready(AGENT, "me", LONG, 0)
            .await
            .expect("`claim_ready` of none")
            .is_empty()
    );
}

pub(super) async fn chats_are_claimed_for_their_own_agent(store: &Store) {
    let agents = ["", "é'; --", "other"];
    for agent in agents {
        let chat = name();
        let created = store.create(&chat, agent).await;
        created.expect("`create` for any agent");
        let sent = store.send(&chat, Sent::new(json!(1))).await;
        sent.expect("`send`, whatever the agent");
    }
    for agent in agents {
        let leases = store.claim_ready(agent, "me", LONG, 10_000).await;
        let leases = leases.expect("`claim_ready`");
        assert!(!leases.is_empty(), "those of `{agent}`");
        for lease in leases {
            let stored = store.load(&lease.chat, 0).await.expect("`load`");
            assert_eq!(stored.agent, agent, "of that agent alone");
        }
    }
}
