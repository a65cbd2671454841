//! What a server speaks.

use crate::protocol::Protocol;
use crate::protocol::anthropic::{self, Anthropic};
use crate::protocol::chat_completions::{self, ChatCompletions};
use crate::protocol::gemini::Gemini;
use crate::protocol::ollama::OllamaChat;
use crate::protocol::responses::{self, Responses};

/// What a server speaks, and in which dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's Chat Completions.
    ChatCompletions(chat_completions::Dialect),
    /// OpenAI's Responses.
    Responses(responses::Dialect),
    /// Anthropic's Messages.
    Anthropic(anthropic::Dialect),
    /// Gemini's generateContent.
    Gemini,
    /// Ollama's own chat protocol.
    Ollama,
}

impl Api {
    /// Chat Completions as most servers speak it.
    pub fn chat_completions() -> Self {
        Api::ChatCompletions(chat_completions::Dialect::STANDARD)
    }

    /// Responses as servers speak it that are not OpenAI's.
    pub fn responses() -> Self {
        Api::Responses(responses::Dialect::STANDARD)
    }

    /// Messages as Anthropic speaks it.
    pub fn anthropic() -> Self {
        Api::Anthropic(anthropic::Dialect::STANDARD)
    }

    /// The protocol. `host` says whose answers are replayed to it with all that only that host
    /// understands.
    pub fn protocol(&self, host: &str) -> Box<dyn Protocol> {
        match self {
            Api::ChatCompletions(dialect) => Box::new(ChatCompletions::new(dialect.clone(), host)),
            Api::Responses(dialect) => Box::new(Responses::new(dialect.clone(), host)),
            Api::Anthropic(dialect) => Box::new(Anthropic::new(dialect.clone(), host)),
            Api::Gemini => Box::new(Gemini::new(host)),
            Api::Ollama => Box::new(OllamaChat::new()),
        }
    }
}
