//! Anthropic's Messages.
//!
//! Every answer is replayed to Anthropic block by block as it came: reasoning with its signature, in its
//! place, and what its own tool search found.

mod messages;
mod reader;
mod render;
mod schema;
mod wire;

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use tool_core::model::{DeltaSink, Request};
use tool_core::{AssistantMessage, ModelError};

use super::{AnswerStream, Protocol};

/// The name of the protocol, by which a tool's `provider_options` find it.
pub const NAME: &str = "anthropic";

/// The version of the protocol, as the header `anthropic-version` says it.
pub const VERSION: &str = "2023-06-01";

/// What a host of Messages does in its own way. Start from [`Dialect::STANDARD`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dialect {
    /// The tokens that an answer may have where nothing else is said: a request must say it.
    pub max_tokens: u32,
    /// Whether the host searches deferred tools itself.
    pub tool_search: bool,
    /// Whether a tool may be `strict`.
    pub strict: bool,
}

impl Dialect {
    /// What Anthropic's own server understands.
    pub const STANDARD: Dialect = Dialect {
        max_tokens: 8192,
        tool_search: true,
        strict: true,
    };
}

/// The protocol, in the dialect of one host.
#[derive(Debug)]
pub struct Anthropic {
    dialect: Dialect,
    /// Who understands what we keep of its answers.
    origin: String,
    /// Tells what was rendered for this dialect and origin from all else.
    key: u64,
}

impl Anthropic {
    /// The protocol in a dialect. `host` says whose answers are replayed to it with all that only
    /// that host understands.
    pub fn new(dialect: Dialect, host: &str) -> Self {
        let origin = format!("{NAME}/{host}");
        let mut hasher = DefaultHasher::new();
        (&dialect, &origin).hash(&mut hasher);
        Anthropic {
            dialect,
            origin,
            key: hasher.finish(),
        }
    }

    /// The dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

impl Protocol for Anthropic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _: &str, _: bool) -> String {
        "/messages".into()
    }

    fn headers(&self, request: &Request<'_>) -> Vec<(&'static str, &'static str)> {
        let mut headers = vec![("anthropic-version", VERSION)];
        if !request.options.remote_mcp.is_empty() {
            headers.push(("anthropic-beta", "mcp-client-2025-11-20"));
        }
        headers
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
