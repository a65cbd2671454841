//! What a model is asked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RemoteMcp;
use crate::tool::Named;
use crate::{ToolSet, Transcript};

/// One question to a model: the transcript so far, and what it may do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The system prompt.
    pub instructions: Option<&'a str>,
    /// All messages so far. Its [`render`](Transcript::render) keeps what a protocol made of them.
    pub transcript: &'a Transcript,
    /// The tools. Its [`render`](ToolSet::render) keeps what a protocol made of them.
    pub tools: &'a ToolSet,
    /// Whether and which tools the model may call.
    pub choice: &'a ToolChoice,
    /// The only tools that it may call; `None`: all.
    pub allowed: Option<&'a [String]>,
    /// How many calls one answer may hold.
    pub calls: Calls,
    /// Sampling and limits.
    pub options: &'a RequestOptions,
    /// Whether pieces are wanted as they arrive.
    pub stream: bool,
}

impl<'a> Request<'a> {
    /// A question with no instructions, any number of calls, not streamed.
    pub fn new(
        transcript: &'a Transcript,
        tools: &'a ToolSet,
        choice: &'a ToolChoice,
        options: &'a RequestOptions,
    ) -> Self {
        Request {
            instructions: None,
            transcript,
            tools,
            choice,
            allowed: None,
            calls: Calls::Any,
            options,
            stream: false,
        }
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_instructions(self, instructions: Option<&'a str>) -> Self {
        Request {
            instructions,
            ..self
        }
    }

    /// Sets the only tools that the model may call.
    #[must_use]
    pub fn with_allowed(self, allowed: Option<&'a [String]>) -> Self {
        Request { allowed, ..self }
    }

    /// Whether the model may call the tool of this name.
    pub fn allows(&self, name: &str) -> bool {
        self.allowed
            .is_none_or(|allowed| allowed.iter().any(|known| known == name))
    }

    /// Sets how many calls one answer may hold.
    #[must_use]
    pub fn with_calls(self, calls: Calls) -> Self {
        Request { calls, ..self }
    }

    /// Sets whether pieces are wanted as they arrive.
    #[must_use]
    pub fn with_stream(self, stream: bool) -> Self {
        Request { stream, ..self }
    }
}

/// Sampling, limits, and what only one provider knows.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestOptions {
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens an answer may have.
    pub max_tokens: Option<u32>,
    /// MCP servers that the provider calls itself.
    pub remote_mcp: Vec<RemoteMcp>,
    /// Other tools that the provider runs itself.
    pub hosted_tools: Vec<HostedTool>,
    /// Members merged verbatim into the body of every request; they win over ours.
    pub extra: Map<String, Value>,
}

/// A tool that a provider runs itself, such as a web search, in the provider's own words.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HostedTool {
    /// The protocol it is for (`chat_completions`, `responses`, `anthropic`, `gemini`, `ollama`); the others leave
    /// it out.
    pub protocol: String,
    /// Its entry in the list of tools.
    pub declaration: Value,
}

impl RequestOptions {
    /// The provider's defaults.
    pub fn new() -> Self {
        RequestOptions::default()
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Self {
        RequestOptions {
            temperature: Some(temperature),
            ..self
        }
    }

    /// Sets the most tokens an answer may have.
    #[must_use]
    pub fn max_tokens(self, max_tokens: u32) -> Self {
        RequestOptions {
            max_tokens: Some(max_tokens),
            ..self
        }
    }

    /// Adds an MCP server that the provider calls itself.
    #[must_use]
    pub fn remote_mcp(mut self, server: RemoteMcp) -> Self {
        self.remote_mcp.push(server);
        self
    }

    /// Adds a tool that the provider runs itself: its entry in the list of tools, for one protocol
    /// (`chat_completions`, `responses`, `anthropic`, `gemini`, `ollama`).
    #[must_use]
    pub fn hosted_tool(mut self, protocol: impl Into<String>, declaration: Value) -> Self {
        self.hosted_tools.push(HostedTool {
            protocol: protocol.into(),
            declaration,
        });
        self
    }

    /// Whether the provider is given tools that it runs itself, or that are written in its own words.
    pub(crate) fn offers_tools(&self) -> bool {
        let written = self.extra.contains_key("tools");
        written || !self.remote_mcp.is_empty() || !self.hosted_tools.is_empty()
    }

    /// Adds a member that is merged verbatim into the body of every request.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }
}

/// Whether and which tools the model may call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must call a tool.
    Required,
    /// The model must not call a tool.
    None,
    /// The model must call the tool of this name.
    Tool(String),
}

impl ToolChoice {
    /// The model must call this annotated tool: `ToolChoice::of::<Weather>()`.
    pub fn of<T: Named>() -> Self {
        ToolChoice::Tool(T::NAME.into())
    }

    /// Whether the model is made to call something.
    pub fn is_forced(&self) -> bool {
        matches!(self, ToolChoice::Required | ToolChoice::Tool(_))
    }
}

impl From<&str> for ToolChoice {
    fn from(name: &str) -> Self {
        ToolChoice::Tool(name.into())
    }
}

/// How many calls one answer of the model may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Calls {
    /// What the provider does by itself.
    #[default]
    Any,
    /// Several, said to the provider.
    Many,
    /// One. Where a provider has no such control, the calls after the first are refused.
    One,
    /// At most so many; the calls after that are refused.
    AtMost(usize),
}

impl Calls {
    /// The largest number that runs.
    pub fn limit(self) -> Option<usize> {
        match self {
            Calls::Any | Calls::Many => None,
            Calls::One => Some(1),
            Calls::AtMost(limit) => Some(limit),
        }
    }
}
