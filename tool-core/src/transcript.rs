//! The messages of a chat, and what became of the calls of the last one.

use std::sync::Mutex;

use bytes::Bytes;

use crate::Message;

/// The messages of a chat, oldest first.
///
/// It only grows, except through [`truncate`](Transcript::truncate). A protocol that renders it
/// keeps the bytes here: each message is rendered once.
#[derive(Debug, Default)]
pub struct Transcript {
    messages: Vec<Message>,
    rendered: Mutex<Option<Rendered>>,
}

#[derive(Debug)]
struct Rendered {
    key: u64,
    messages: usize,
    bytes: Bytes,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Transcript::default()
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Forgets all messages after the first `messages`. A cut between a call and its result moves
    /// back to before the answer that holds the call.
    pub fn truncate(&mut self, messages: usize) {
        let mut end = messages.min(self.messages.len());
        if end < self.messages.len() && matches!(self.messages[end], Message::Tool(_)) {
            while end > 0 && matches!(self.messages[end], Message::Tool(_)) {
                end -= 1;
            }
        }
        self.messages.truncate(end);
        *self.slot() = None;
    }

    /// The messages as one run of bytes, kept for the next request.
    ///
    /// `append` is called with all messages and the number of those that `bytes` already holds; it
    /// appends the rest. What it appends must not depend on messages that come later. `key` tells
    /// the forms of the bytes apart (a protocol and its dialect): another key starts anew.
    ///
    /// As long as the bytes of the last request are no longer in use, nothing is copied.
    pub fn render(&self, key: u64, append: impl FnOnce(&[Message], usize, &mut Vec<u8>)) -> Bytes {
        let mut slot = self.slot();
        let kept = slot
            .take()
            .filter(|kept| kept.key == key && kept.messages <= self.messages.len());
        let (done, bytes) = kept.map_or((0, Bytes::new()), |kept| (kept.messages, kept.bytes));
        let bytes = if done == self.messages.len() {
            bytes
        } else {
            let mut buffer = Vec::from(bytes);
            append(&self.messages, done, &mut buffer);
            Bytes::from(buffer)
        };
        *slot = Some(Rendered {
            key,
            messages: self.messages.len(),
            bytes: bytes.clone(),
        });
        bytes
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Rendered>> {
        self.rendered
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clone for Transcript {
    fn clone(&self) -> Self {
        Transcript {
            messages: self.messages.clone(),
            rendered: Mutex::default(),
        }
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Transcript {
            messages: messages.into_iter().collect(),
            rendered: Mutex::default(),
        }
    }
}
