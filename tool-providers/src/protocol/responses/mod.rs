//! OpenAI's Responses, as xAI and others speak it too.
//!
//! Nothing is kept at the provider: every request carries the whole conversation, and all that the
//! provider wants back, reasoning among it, is replayed to it word for word.

mod items;
mod output;
mod reader;
mod render;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tool_core::model::{DeltaSink, Request};
use tool_core::{AssistantMessage, ModelError};

use super::{AnswerStream, Protocol, json};

/// The name of the protocol, by which a tool's `provider_options` find it.
pub const NAME: &str = "responses";

/// What a host of Responses does in its own way. Start from [`Dialect::STANDARD`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dialect {
    /// Whether the host searches deferred tools itself.
    pub tool_search: bool,
    /// Whether a choice among some of the declared tools, `allowed_tools`, is understood. Where it is
    /// not, the other tools are not declared.
    pub allowed_tools: bool,
    /// Whether reasoning comes encrypted when it is asked for, to be sent back.
    pub encrypted_reasoning: bool,
    /// How the names of models begin that do not reason: asked for reasoning, the host refuses.
    pub without_reasoning: &'static [&'static str],
    /// Whether a function may be `strict`.
    pub strict: bool,
    /// Whether a host calls MCP servers itself.
    pub remote_mcp: bool,
    /// Whether results can hold images and files.
    pub attachments_in_results: bool,
}

impl Dialect {
    /// What servers that are not OpenAI's understand.
    pub const STANDARD: Dialect = Dialect {
        tool_search: false,
        allowed_tools: false,
        encrypted_reasoning: true,
        without_reasoning: &[],
        strict: true,
        remote_mcp: false,
        attachments_in_results: true,
    };

    /// What OpenAI's own server understands.
    pub const OPENAI: Dialect = Dialect {
        tool_search: true,
        allowed_tools: true,
        without_reasoning: &[
            "gpt-3.5",
            "gpt-4",
            "gpt-5-chat",
            "chatgpt",
            "ft:gpt-3.5",
            "ft:gpt-4",
        ],
        remote_mcp: true,
        ..Dialect::STANDARD
    };
}

/// The protocol, in the dialect of one host.
#[derive(Debug)]
pub struct Responses {
    dialect: Dialect,
    /// Who understands what we keep of its answers.
    origin: String,
    /// Tells what was rendered for this dialect and origin from all else.
    key: u64,
    /// The instructions rendered last, and of which text.
    instructions: Mutex<Option<(Box<str>, Bytes)>>,
}

impl Responses {
    /// The protocol in a dialect. `host` says whose answers are replayed to it with all that only
    /// that host understands.
    pub fn new(dialect: Dialect, host: &str) -> Self {
        let origin = format!("{NAME}/{host}");
        let mut hasher = DefaultHasher::new();
        (&dialect, &origin).hash(&mut hasher);
        Responses {
            dialect,
            origin,
            key: hasher.finish(),
            instructions: Mutex::new(None),
        }
    }

    /// The dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// `,"instructions":"…"`.
    fn instructions(&self, text: &str) -> Bytes {
        let mut slot = self
            .instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((known, bytes)) if **known == *text => bytes.clone(),
            _ => {
                let mut out = Vec::with_capacity(text.len() + 32);
                json::value(&mut out, text);
                let bytes = Bytes::from(out);
                *slot = Some((text.into(), bytes.clone()));
                bytes
            }
        }
    }
}

impl Protocol for Responses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _: &str, _: bool) -> String {
        "/responses".into()
    }

    fn searches_tools(&self) -> bool {
        self.dialect.tool_search
    }

    fn render(&self, model: &str, request: &Request<'_>) -> Result<Vec<Bytes>, ModelError> {
        render::request(self, model, request)
    }

    fn parse(&self, body: &[u8], sink: &mut DeltaSink<'_>) -> Result<AssistantMessage, ModelError> {
        reader::whole(self, body, sink)
    }

    fn stream(&self) -> Box<dyn AnswerStream + '_> {
        Box::new(reader::Reader::new(self))
    }
}
