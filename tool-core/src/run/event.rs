//! What a chat tells those who watch it.

use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::task::{Context, Poll};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{Message, Progress, ToolCall, ToolResult};

/// Something that happened in a chat.
///
/// The order is that of the events themselves: the pieces of an answer, the answer, then for each
/// call its start, its progress and its result. Calls that run at the same time interleave.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The model said more. Streamed answers come in pieces, others in one.
    Text(String),
    /// The model reasoned more.
    Thinking(String),
    /// A message was added to the transcript.
    Message(Box<Message>),
    /// A call starts to run.
    ToolCall(ToolCall),
    /// A running call reports.
    Progress(Progress),
    /// A call has its result.
    ToolResult(Box<ToolResult>),
    /// The chat waits: calls need a decision or an answer, or a task goes on.
    Paused,
    /// Something went wrong that does not stop the chat.
    Warning(String),
    /// The run was cancelled.
    Cancelled,
    /// The model has answered; nothing is left to do.
    End,
}

/// The events of a chat from now on. It never makes the chat wait.
pub struct Events(UnboundedReceiver<Event>);

impl Events {
    /// The next event; `None` when the chat is gone.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// The next event if there is one already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.0.try_recv().ok()
    }

    /// Polls for the next event, to make a `Stream` of it.
    pub fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_recv(context)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

type Callback<T> = Box<dyn Fn(&T) + Send + Sync>;

/// What an application wants called, in the order in which it said so.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) before_tool_call: Vec<Callback<ToolCall>>,
    pub(crate) after_tool_result: Vec<Callback<ToolResult>>,
    pub(crate) after_tool_progress: Vec<Callback<Progress>>,
    pub(crate) before_message: Vec<Box<dyn Fn() + Send + Sync>>,
    pub(crate) after_message: Vec<Callback<Message>>,
    pub(crate) on_event: Vec<Callback<Event>>,
}

/// Where everything that happens in a chat is said. Shared with the calls that run.
#[derive(Default)]
pub(crate) struct Hub {
    callbacks: RwLock<Callbacks>,
    subscribers: Mutex<Vec<UnboundedSender<Event>>>,
}

impl Hub {
    pub(crate) fn register(&self, register: impl FnOnce(&mut Callbacks)) {
        register(
            &mut self
                .callbacks
                .write()
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn callbacks(&self) -> RwLockReadGuard<'_, Callbacks> {
        self.callbacks
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribe(&self) -> Events {
        let (sender, receiver) = unbounded_channel();
        self.lock().push(sender);
        Events(receiver)
    }

    /// Says an event, which is made only where someone listens.
    pub(crate) fn say(&self, event: impl FnOnce() -> Event) {
        let callbacks = self.callbacks();
        let mut subscribers = self.lock();
        if callbacks.on_event.is_empty() && subscribers.is_empty() {
            return;
        }
        let event = event();
        subscribers.retain(|subscriber| subscriber.send(event.clone()).is_ok());
        drop(subscribers);
        callbacks
            .on_event
            .iter()
            .for_each(|callback| callback(&event));
    }

    pub(crate) fn before_message(&self) {
        self.callbacks()
            .before_message
            .iter()
            .for_each(|callback| callback());
    }

    pub(crate) fn message(&self, message: &Message) {
        self.callbacks()
            .after_message
            .iter()
            .for_each(|callback| callback(message));
        self.say(|| Event::Message(Box::new(message.clone())));
    }

    pub(crate) fn call(&self, call: &ToolCall) {
        self.callbacks()
            .before_tool_call
            .iter()
            .for_each(|callback| callback(call));
        self.say(|| Event::ToolCall(ToolCall::clone(call)));
    }

    pub(crate) fn result(&self, result: &ToolResult) {
        self.callbacks()
            .after_tool_result
            .iter()
            .for_each(|callback| callback(result));
        self.say(|| Event::ToolResult(Box::new(result.clone())));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<UnboundedSender<Event>>> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    pub(crate) fn progress(&self, progress: Progress) {
        self.callbacks()
            .after_tool_progress
            .iter()
            .for_each(|callback| callback(&progress));
        self.say(|| Event::Progress(progress));
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}
