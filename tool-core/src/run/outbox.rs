//! Where runs leave what they came to.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::execute::Ran;
use crate::{ToolError, ToolResult};

/// What calls came to, by their keys, until the driver takes it: also when the future that drives the
/// chat was dropped before it could.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    left: Vec<(String, Ran)>,
    /// Calls that run whether or not anybody waits.
    apart: HashSet<String>,
    /// How many tasks of calls are not gone, though they may have been told to stop.
    alive: usize,
    unkept: Vec<(String, Unkept)>,
}

/// The result of a tool that is not yet kept in a file.
pub(crate) struct Unkept {
    pub(crate) result: ToolResult,
    pub(crate) text: Bytes,
    pub(crate) fatal: Option<ToolError>,
}

impl Outbox {
    pub(crate) fn leave(&self, key: String, ran: Ran) {
        self.lock().left.push((key, ran));
    }

    pub(crate) fn take(&self) -> Vec<(String, Ran)> {
        std::mem::take(&mut self.lock().left)
    }

    /// Keeps a result whose file was not written when its run was dropped.
    pub(crate) fn put_unkept(&self, key: String, unkept: Unkept) {
        self.lock().unkept.push((key, unkept));
    }

    pub(crate) fn take_unkept(&self, key: &str) -> Option<Unkept> {
        let unkept = &mut self.lock().unkept;
        let at = unkept.iter().position(|(known, _)| known == key)?;
        Some(unkept.swap_remove(at).1)
    }

    /// Whether a result waits to be kept.
    pub(crate) fn has_unkept(&self, key: &str) -> bool {
        self.lock().unkept.iter().any(|(known, _)| known == key)
    }

    /// Runs a call that cannot be stopped, and waits until it has left what it came to. If the caller
    /// stops waiting, it goes on; if the call runs already, the caller waits for that run.
    pub(crate) async fn apart(&self, key: String, run: impl Future<Output = Ran> + Send + 'static) {
        if self.lock().apart.insert(key.clone()) {
            let (outbox, key) = (self.clone(), key.clone());
            tokio::spawn(async move {
                let _apart = Apart(&outbox, &key);
                outbox.leave(key.clone(), run.await);
            });
        }
        self.until(|inner| !inner.apart.contains(&key)).await;
    }

    /// Whether a call runs that cannot be stopped.
    pub(crate) fn is_apart(&self, key: &str) -> bool {
        self.lock().apart.contains(key)
    }

    /// Says that a task of a call is not gone, until what is returned is dropped.
    pub(crate) fn alive(&self) -> Alive {
        self.lock().alive += 1;
        Alive(self.clone())
    }

    /// Waits until all tasks are gone that were told to stop.
    pub(crate) async fn quiet(&self) {
        self.until(|inner| inner.alive == 0).await;
    }

    async fn until(&self, is: impl Fn(&Inner) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if is(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Apart<'a>(&'a Outbox, &'a str);

impl Drop for Apart<'_> {
    fn drop(&mut self) {
        self.0.lock().apart.remove(self.1);
        self.0.0.changed.notify_waiters();
    }
}

/// See [`Outbox::alive`].
pub(crate) struct Alive(Outbox);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lock().alive -= 1;
        self.0.0.changed.notify_waiters();
    }
}
