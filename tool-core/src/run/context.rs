//! What a running call sees of its chat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use serde::{Deserialize, Serialize};

use super::Hub;
use crate::call::CallContext;
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
}

struct State {
    /// The answers of earlier runs, in the order of the questions.
    answered: Vec<Question>,
    next: usize,
    open: Option<InputRequest>,
    waker: Option<Waker>,
}

impl RunContext {
    pub(crate) fn new(hub: Arc<Hub>, questions: &[Question]) -> Self {
        let answered = questions
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
        }
    }

    /// The question that the run waits for, if it does. Else `waker` is woken when one is put.
    pub(crate) fn open_question(&self, waker: &Waker) -> Option<InputRequest> {
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallContext for RunContext {
    fn progress(&self, progress: Progress) {
        self.hub.progress(progress);
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
        state.open.get_or_insert(request);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        None
    }
}
