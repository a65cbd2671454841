//! Running chats in the background.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Agent, StoredChat};
use crate::ChatError;
use crate::store::{ChatStore, Lease};

/// How long a worker waits for news at most before it looks again.
const LOOK: Duration = Duration::from_secs(1);

/// How long chats may take to come to a step's end when a worker stops.
const GRACE: Duration = Duration::from_secs(25);

/// Runs the chats of an agent that are ready: those to which something was sent, whose tasks are due, or
/// whose process died. Any number of workers, in any number of processes, share the chats of an agent.
pub struct Worker {
    agent: Agent,
    concurrency: usize,
    look: Duration,
    grace: Duration,
}

/// Which chat was run, and why that failed, if it did.
type Ended = (String, Option<ChatError>);

impl Worker {
    /// A worker that runs eight chats at a time.
    pub fn new(agent: Agent) -> Self {
        Worker {
            agent,
            concurrency: 8,
            look: LOOK,
            grace: GRACE,
        }
    }

    /// Sets how many chats run at a time.
    #[must_use]
    pub fn concurrency(self, concurrency: usize) -> Self {
        Worker {
            concurrency: concurrency.max(1),
            ..self
        }
    }

    /// Sets how long it waits at most before it looks for ready chats again: a second, unless it is said
    /// otherwise. News of the store wakes it before.
    #[must_use]
    pub fn look_every(self, look: Duration) -> Self {
        Worker { look, ..self }
    }

    /// Sets how long it waits, when it is stopped, for what its chats are doing: the model's answer, the
    /// calls that run. 25 seconds, unless it is said otherwise.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Worker { grace, ..self }
    }

    /// Runs chats until `stop` is ready. Those that run then come to the end of their step and are handed
    /// back, for other workers to go on with; a step that does not end in time is dropped, and its chat taken
    /// over when its lease has ended. A chat whose run fails rests and is tried again; `failed` is told. A
    /// store that is away is asked again.
    pub async fn run(self, stop: impl Future<Output = ()>, failed: impl Fn(&str, &ChatError)) {
        let store = self.agent.0.store.clone();
        let stopping = Arc::new(AtomicBool::new(false));
        let mut running: JoinSet<Ended> = JoinSet::new();
        let mut stop = pin!(stop);
        let mut moment = 0;
        loop {
            while let Some(joined) = running.try_join_next() {
                tell(joined, &failed);
            }
            let free = self.concurrency.saturating_sub(running.len());
            for lease in self.claim(free).await {
                let (agent, stopping) = (self.agent.clone(), stopping.clone());
                running.spawn(run(agent, lease, stopping));
            }
            let mut news = pin!(self.news(&*store, moment));
            let next = poll_fn(|context| {
                if stop.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                if let Poll::Ready(Some(joined)) = running.poll_join_next(context) {
                    tell(joined, &failed);
                    return Poll::Ready(Some(moment));
                }
                news.as_mut().poll(context).map(Some)
            });
            match next.await {
                Some(next) => moment = next,
                None => break,
            }
        }
        stopping.store(true, Ordering::SeqCst);
        let until = Instant::now() + self.grace;
        while let Ok(Some(joined)) = timeout_at(until, running.join_next()).await {
            tell(joined, &failed);
        }
    }

    async fn claim(&self, limit: usize) -> Vec<Lease> {
        if limit == 0 {
            return Vec::new();
        }
        let agent = &self.agent.0;
        let claimed = agent
            .store
            .claim_ready(&agent.name, &agent.owner, agent.lease, limit);
        claimed.await.unwrap_or_default()
    }

    async fn news(&self, store: &dyn ChatStore, after: u64) -> u64 {
        let until = Instant::now() + self.look;
        match store.wait(after, self.look).await {
            Ok(moment) => moment,
            Err(_) => {
                sleep_until(until).await;
                after
            }
        }
    }
}

async fn run(agent: Agent, lease: Lease, stopping: Arc<AtomicBool>) -> Ended {
    let id = lease.chat.clone();
    let mut chat = StoredChat::empty(&agent, id.clone());
    let ran = chat.complete_under(lease, &stopping).await;
    (id, ran.err())
}

fn tell(joined: Result<Ended, tokio::task::JoinError>, failed: &impl Fn(&str, &ChatError)) {
    if let Ok((chat, Some(error))) = joined {
        failed(&chat, &error);
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("agent", &self.agent)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
