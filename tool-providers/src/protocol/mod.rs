//! Wire formats: pure functions between the transcript and bytes.
//!
//! Nothing here does IO or knows a vendor. What vendors of one protocol do differently is data: the
//! `Dialect` of each protocol. A protocol of your own implements [`Protocol`].

pub mod anthropic;
mod attachment;
mod body;
pub mod chat_completions;
mod error;
mod fill;
pub mod gemini;
mod json;
pub mod ollama;
pub mod responses;
mod schema;
mod tools;
mod values;

use std::fmt;

use bytes::Bytes;
use tool_core::model::{DeltaSink, Request};
use tool_core::{AssistantMessage, Message, ModelError, ToolCall, ToolResult};

pub use error::{parse_error, parse_error_event};

/// A wire format: how a request is written, and an answer read.
pub trait Protocol: fmt::Debug + Send + Sync {
    /// Its name, by which a tool's `provider_options` find it.
    fn name(&self) -> &'static str;

    /// The path of a request, below the address of the API.
    fn path(&self, model: &str, stream: bool) -> String;

    /// Headers that a request needs beside those of the provider.
    fn headers(&self, request: &Request<'_>) -> Vec<(&'static str, &'static str)> {
        let _ = request;
        Vec::new()
    }

    /// How the pieces of a streamed answer are told apart.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Whether the provider searches deferred tools itself.
    fn searches_tools(&self) -> bool {
        false
    }

    /// The body of a request, in pieces. What was rendered for an earlier request is shared.
    ///
    /// # Errors
    ///
    /// The request holds what the provider cannot be told: an attachment, a strict tool whose schema
    /// cannot be held, a remote server.
    fn render(&self, model: &str, request: &Request<'_>) -> Result<Vec<Bytes>, ModelError>;

    /// Reads an answer that came whole.
    ///
    /// # Errors
    ///
    /// The body is an error, or no answer.
    fn parse(&self, body: &[u8], sink: &mut DeltaSink<'_>) -> Result<AssistantMessage, ModelError>;

    /// Reads an answer that comes in pieces.
    fn stream(&self) -> Box<dyn AnswerStream + '_>;
}

/// How the pieces of a streamed answer are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// Lines of JSON.
    Lines,
}

/// An answer that arrives in pieces.
pub trait AnswerStream: Send {
    /// Takes the data of one event, or a line; what it says goes to `sink`.
    ///
    /// # Errors
    ///
    /// It is an error, or not of this protocol.
    fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError>;

    /// Whether the provider said that nothing more comes.
    fn is_done(&self) -> bool;

    /// The message.
    ///
    /// # Errors
    ///
    /// The stream ended before the answer was whole: there is no half message.
    fn finish(self: Box<Self>) -> Result<AssistantMessage, ModelError>;
}

/// The call of a result: it is in the last answer before it.
fn call_of(messages: &[Message], position: usize) -> Option<&ToolCall> {
    let Some(Message::Tool(ToolResult { call_id, .. })) = messages.get(position) else {
        return None;
    };
    answer_before(messages, position)?
        .tool_calls()
        .find(|call| call.id == *call_id)
}

/// The last answer before a message.
fn answer_before(messages: &[Message], position: usize) -> Option<&AssistantMessage> {
    messages[..position]
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::Assistant(answer) => Some(answer),
            _ => None,
        })
}

/// An answer in the provider's own words, where `origin` understands them.
fn raw<'m>(answer: Option<&'m AssistantMessage>, origin: &str) -> Option<&'m str> {
    let raw = answer?.raw.as_ref()?;
    (raw.origin == origin).then_some(raw.json.as_str())
}

/// Whether a message is the result of a call that only another provider can run.
fn is_remote(messages: &[Message], position: usize) -> bool {
    call_of(messages, position).is_some_and(|call| call.server.is_some())
}

/// The id of a call: the given one, unless that is empty or taken.
fn unique_id(given: &str, taken: &[String]) -> String {
    let slot = taken.len();
    let mut id = match given {
        "" => format!("call_{slot}"),
        given => given.to_owned(),
    };
    while taken.contains(&id) {
        id = format!("{id}_{slot}");
    }
    id
}

/// What stands for a result without text; some hosts refuse an empty one.
const NO_OUTPUT: &str = "(no output)";
