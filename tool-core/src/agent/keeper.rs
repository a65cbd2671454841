//! What goes on beside the runs of a process: their leases are renewed together, and cancellations that are
//! sent to them are noticed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::mail::Mail;
use crate::CancelHandle;
use crate::run::Deadlines;
use crate::store::{ChatStore, Lease};

/// How long news are not looked at after they were.
const REST: Duration = Duration::from_millis(50);

/// The leases that a process holds.
#[derive(Clone, Default)]
pub(super) struct Keepers(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    live: Vec<Arc<Live>>,
    task: Option<JoinHandle<()>>,
}

struct Live {
    lease: Lease,
    cancel: CancelHandle,
    deadlines: Deadlines,
    /// How much of what was sent was looked at.
    seen: AtomicU64,
    lost: Arc<AtomicBool>,
}

impl Live {
    fn lose(&self) {
        self.lost.store(true, Ordering::SeqCst);
        self.cancel.cancel();
    }
}

impl Keepers {
    /// Renews a lease until what is returned is dropped. `seen`: how much of what was sent was looked at.
    pub(super) fn keep(
        &self,
        store: &Arc<dyn ChatStore>,
        lease: Lease,
        length: Duration,
        cancel: CancelHandle,
        (deadlines, lost): (Deadlines, Arc<AtomicBool>),
        seen: u64,
    ) -> Keeper {
        let live = Arc::new(Live {
            lease,
            cancel,
            deadlines,
            seen: AtomicU64::new(seen),
            lost,
        });
        let mut kept = self.lock();
        kept.live.push(live.clone());
        // It ends with the runtime that it was spawned on.
        if kept.task.as_ref().is_none_or(JoinHandle::is_finished) {
            kept.task = Some(tokio::spawn(watch(self.clone(), store.clone(), length)));
        }
        Keeper {
            keepers: self.clone(),
            live,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The leases to be renewed; at the end there are none, and the task is gone for the next one.
    fn live(&self) -> Vec<Arc<Live>> {
        let mut kept = self.lock();
        if kept.live.is_empty() {
            kept.task = None;
        }
        kept.live.clone()
    }
}

async fn watch(keepers: Keepers, store: Arc<dyn ChatStore>, length: Duration) {
    let beat = length / 3;
    let mut renewed = Instant::now();
    let mut moment = 0;
    loop {
        let rest = beat.saturating_sub(renewed.elapsed());
        moment = store.wait(moment, rest).await.unwrap_or(moment);
        let live = keepers.live();
        if live.is_empty() {
            return;
        }
        cancel_those_told_to(&*store, &live).await;
        if renewed.elapsed() >= beat {
            // What cannot be stopped is not waited for: others may take the chat.
            let is_overdue = |run: &Arc<Live>| run.deadlines.is_overdue(length / 2);
            let (overdue, live): (Vec<_>, Vec<_>) = live.into_iter().partition(is_overdue);
            overdue.iter().for_each(|run| run.lose());
            let leases: Vec<Lease> = live.iter().map(|run| run.lease.clone()).collect();
            let began = Instant::now();
            match store.renew(&leases, length).await {
                Ok(lost) => {
                    let is_lost = |run: &&Arc<Live>| lost.contains(&run.lease);
                    live.iter().filter(is_lost).for_each(|run| run.lose());
                    renewed = began;
                }
                // The store is away, perhaps only for this process: others may run the chats by now. What is
                // finished is recorded none the less, if they do not.
                Err(_) if renewed.elapsed() >= length => live.iter().for_each(|run| run.lose()),
                Err(_) => {}
            }
        }
        sleep(REST.min(beat)).await;
    }
}

/// Cancels the runs of chats that were cancelled. Only those are loaded to which something was sent.
async fn cancel_those_told_to(store: &dyn ChatStore, live: &[Arc<Live>]) {
    let chats: Vec<String> = live.iter().map(|run| run.lease.chat.clone()).collect();
    let Ok(sent) = store.last_sent(&chats).await else {
        return;
    };
    for (run, last) in live.iter().zip(sent) {
        if last > run.seen.load(Ordering::SeqCst) {
            if was_cancelled(store, &run.lease.chat).await {
                run.cancel.cancel();
            }
            run.seen.store(last, Ordering::SeqCst);
        }
    }
}

async fn was_cancelled(store: &dyn ChatStore, chat: &str) -> bool {
    // Only the messages are not looked at.
    let Ok(stored) = store.load(chat, u64::MAX).await else {
        return false;
    };
    stored
        .inbox
        .iter()
        .any(|(_, sent)| matches!(serde_json::from_value(sent.body.clone()), Ok(Mail::Cancel)))
}

/// Keeps a lease until it is dropped.
pub(super) struct Keeper {
    keepers: Keepers,
    live: Arc<Live>,
}

impl Keeper {
    /// Whether another process may run the chat by now.
    pub(super) fn has_lost(&self) -> bool {
        self.live.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut kept = self.keepers.lock();
        kept.live.retain(|run| !Arc::ptr_eq(run, &self.live));
    }
}
