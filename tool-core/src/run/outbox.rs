//! Where concurrent calls leave what they came to.

use std::sync::{Arc, Mutex, PoisonError};

use super::execute::Ran;

/// What calls came to, by their keys, until the driver takes it: also when the future that drives the
/// chat was dropped before it could.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Vec<(String, Ran)>>>);

impl Outbox {
    pub(crate) fn leave(&self, key: String, ran: Ran) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((key, ran));
    }

    pub(crate) fn take(&self) -> Vec<(String, Ran)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
