//! Gemini's generateContent.
//!
//! Every answer is replayed to Gemini part by part as it came, with the signatures of its thoughts where
//! they were.

mod contents;
mod reader;
mod render;
mod schema;
mod wire;

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use tool_core::model::{DeltaSink, Request};
use tool_core::{AssistantMessage, ModelError};

use super::{AnswerStream, Protocol};

pub use schema::parameters;

/// The name of the protocol, by which a tool's `provider_options` find it.
pub const NAME: &str = "gemini";

/// The protocol.
#[derive(Debug)]
pub struct Gemini {
    /// Who understands what we keep of its answers.
    origin: String,
    /// Tells what was rendered for this origin from all else.
    key: u64,
}

impl Gemini {
    /// The protocol. `host` says whose answers are replayed to it with all that only that host
    /// understands.
    pub fn new(host: &str) -> Self {
        let origin = format!("{NAME}/{host}");
        let mut hasher = DefaultHasher::new();
        origin.hash(&mut hasher);
        Gemini {
            origin,
            key: hasher.finish(),
        }
    }
}

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, model: &str, stream: bool) -> String {
        let model = model.strip_prefix("models/").unwrap_or(model);
        match stream {
            false => format!("/models/{model}:generateContent"),
            true => format!("/models/{model}:streamGenerateContent?alt=sse"),
        }
    }

    fn render(&self, _: &str, request: &Request<'_>) -> Result<Vec<Bytes>, ModelError> {
        render::request(self, request)
    }

    fn parse(&self, body: &[u8], sink: &mut DeltaSink<'_>) -> Result<AssistantMessage, ModelError> {
        reader::whole(self, body, sink)
    }

    fn stream(&self) -> Box<dyn AnswerStream + '_> {
        Box::new(reader::Reader::new(self))
    }
}
