//! OpenAI's Chat Completions, which most servers speak.
//!
//! A whole answer and one in pieces feed one accumulator.

mod attachments;
mod calls;
mod dialect;
mod messages;
mod parse;
mod reasoning;
mod render;
mod stream;
mod tools;
mod wire;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tool_core::model::{DeltaSink, Request};
use tool_core::{AssistantMessage, ModelError};

use super::{AnswerStream, Protocol};

pub use dialect::{CallIds, Dialect};

/// The name of the protocol, by which a tool's `provider_options` find it.
pub const NAME: &str = "chat_completions";

/// The protocol, in the dialect of one host.
#[derive(Debug)]
pub struct ChatCompletions {
    dialect: Dialect,
    /// Who understands what we keep of its answers.
    origin: String,
    /// Tells what was rendered for this dialect and origin from all else.
    key: u64,
    /// The system message rendered last, and of which text.
    system: Mutex<Option<(Box<str>, Bytes)>>,
}

impl ChatCompletions {
    /// The protocol in a dialect. `host` says whose answers are replayed to it with all that only
    /// that host understands.
    pub fn new(dialect: Dialect, host: &str) -> Self {
        let origin = format!("{NAME}/{host}");
        let mut hasher = DefaultHasher::new();
        (&dialect, &origin).hash(&mut hasher);
        ChatCompletions {
            dialect,
            origin,
            key: hasher.finish(),
            system: Mutex::new(None),
        }
    }

    /// The dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    fn system(&self, instructions: &str) -> Bytes {
        let mut slot = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((text, bytes)) if **text == *instructions => bytes.clone(),
            _ => {
                let bytes = Bytes::from(messages::system(instructions));
                *slot = Some((instructions.into(), bytes.clone()));
                bytes
            }
        }
    }
}

impl Protocol for ChatCompletions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _: &str, _: bool) -> String {
        "/chat/completions".into()
    }

    fn render(&self, model: &str, request: &Request<'_>) -> Result<Vec<Bytes>, ModelError> {
        render::request(self, model, request)
    }

    fn parse(&self, body: &[u8], sink: &mut DeltaSink<'_>) -> Result<AssistantMessage, ModelError> {
        parse::answer(self, body, sink)
    }

    fn stream(&self) -> Box<dyn AnswerStream + '_> {
        Box::new(stream::Stream::new(self))
    }
}
