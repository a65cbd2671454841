//! Running chats in the background.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Agent, StoredChat};
use crate::ChatError;

/// How long a worker waits for news at most before it looks again.
const LOOK: Duration = Duration::from_secs(1);

/// Runs the chats of an agent that are ready: those to which something was sent, whose tasks are due, or
/// whose process died. Any number of workers, in any number of processes, share the chats of a store.
pub struct Worker {
    agent: Agent,
    concurrency: usize,
    look: Duration,
}

impl Worker {
    /// A worker that runs eight chats at a time.
    pub fn new(agent: Agent) -> Self {
        Worker {
            agent,
            concurrency: 8,
            look: LOOK,
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

    /// Sets how long it waits at most before it looks for ready chats again. News of the store wakes it
    /// before.
    #[must_use]
    pub fn look_every(self, look: Duration) -> Self {
        Worker { look, ..self }
    }

    /// Runs chats until `stop` is ready; those that run then are finished first. A chat whose run fails
    /// rests and is tried again; `failed` is told.
    ///
    /// # Errors
    ///
    /// None: a store that is away is asked again.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        failed: impl Fn(&str, &ChatError),
    ) -> Result<(), ChatError> {
        let mut stop = std::pin::pin!(stop);
        let mut running: JoinSet<(String, Option<ChatError>)> = JoinSet::new();
        let definition = self.agent.0.clone();
        let mut stopping = false;
        loop {
            while let Some(Ok((chat, error))) = running.try_join_next() {
                if let Some(error) = error {
                    failed(&chat, &error);
                }
            }
            if stopping && running.is_empty() {
                return Ok(());
            }
            let free = self.concurrency.saturating_sub(running.len());
            if !stopping && free > 0 {
                let store = &definition.store;
                let claimed = store
                    .claim_ready(&definition.owner, definition.lease, free)
                    .await;
                for lease in claimed.unwrap_or_default() {
                    let agent = self.agent.clone();
                    running.spawn(async move {
                        let id = lease.chat.clone();
                        let ran = async {
                            let mut chat = StoredChat::load(&agent, id.clone()).await?;
                            chat.complete_under(lease).await
                        };
                        let error = ran.await.err();
                        (id, error)
                    });
                }
            }
            let mut news = definition.store.wait(self.look);
            poll_fn(|context| {
                if !stopping && stop.as_mut().poll(context).is_ready() {
                    stopping = true;
                    return Poll::Ready(());
                }
                if let Poll::Ready(Some(joined)) = running.poll_join_next(context) {
                    if let Ok((chat, Some(error))) = joined {
                        failed(&chat, &error);
                    }
                    return Poll::Ready(());
                }
                news.as_mut().poll(context).map(drop)
            })
            .await;
        }
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
