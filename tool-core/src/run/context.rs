//! What a running call sees of its chat.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{Acting, Hub, PendingCall};
use crate::call::{CallContext, Lending};
use crate::{Answer, InputRequest, Progress};

/// A question that was put, and its answer once there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) answer: Option<Answer>,
}

/// One run of one call.
pub(crate) struct RunContext {
    hub: Arc<Hub>,
    state: Mutex<State>,
    ended: watch::Sender<bool>,
    attempt: u32,
    acting: Option<Acting>,
}

struct State {
    /// The answers of earlier runs, in the order of the questions.
    answered: Vec<Question>,
    next: usize,
    /// The question that has no answer, and how many were answered before it.
    open: Option<(usize, InputRequest)>,
    waker: Option<Waker>,
}

impl RunContext {
    pub(crate) fn new(hub: Arc<Hub>, pending: &PendingCall, acting: Option<Acting>) -> Self {
        let answered = pending
            .questions
            .iter()
            .filter(|question| question.answer.is_some())
            .cloned()
            .collect();
        RunContext {
            hub,
            state: Mutex::new(State {
                answered,
                next: 0,
                open: None,
                waker: None,
            }),
            ended: watch::Sender::new(false),
            attempt: pending.attempts,
            acting,
        }
    }

    /// The question that the run waits for, if it does. Else `waker` is woken when one is put.
    pub(crate) fn open_question(&self, waker: &Waker) -> Option<(usize, InputRequest)> {
        let mut state = self.lock();
        let open = state.open.take();
        if open.is_none()
            && !state
                .waker
                .as_ref()
                .is_some_and(|kept| kept.will_wake(waker))
        {
            state.waker = Some(waker.clone());
        }
        open
    }

    /// Says that the run is over. A tool on a thread of its own may not know it yet: it is heard no more.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Where the call gets its transaction, if its chat is in a store.
    pub(crate) fn acting(&self) -> Option<&Acting> {
        self.acting.as_ref()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallContext for RunContext {
    fn progress(&self, progress: Progress) {
        if !*self.ended.borrow() {
            self.hub.progress(progress);
        }
    }

    fn ask(&self, request: InputRequest) -> Option<Answer> {
        let mut state = self.lock();
        let at = state.next;
        state.next += 1;
        if let Some(question) = state.answered.get(at)
            && question.request == request
        {
            return question.answer.clone();
        }
        state.open.get_or_insert((at, request));
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        None
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn transaction(&self) -> Option<Lending<'_>> {
        let acting = self.acting.as_ref()?;
        Some(Box::pin(acting.transaction()))
    }

    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut ended = self.ended.subscribe();
        Box::pin(async move {
            // The sender is gone only with the run.
            let _ = ended.wait_for(|ended| *ended).await;
        })
    }
}
