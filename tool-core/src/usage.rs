//! What a model's answer cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens, as the provider counted them. What a provider does not say is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the request, including those read from a cache.
    pub input_tokens: u64,
    /// Tokens of the answer, including those spent on reasoning.
    pub output_tokens: u64,
    /// Tokens of the request that the provider read from its cache.
    pub cached_input_tokens: u64,
    /// Tokens of the answer that were spent on reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// The tokens of a request and its answer.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        }
    }

    /// How many of `input_tokens` came from the provider's cache.
    #[must_use]
    pub fn with_cached_input_tokens(self, cached_input_tokens: u64) -> Self {
        Usage {
            cached_input_tokens,
            ..self
        }
    }

    /// How many of `output_tokens` were spent on reasoning.
    #[must_use]
    pub fn with_reasoning_tokens(self, reasoning_tokens: u64) -> Self {
        Usage {
            reasoning_tokens,
            ..self
        }
    }

    /// The tokens of request and answer together.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}
