//! What an answer, or a chunk of one, looks like on the wire.
//!
//! Everything is optional, `null` means absent, and text is borrowed from the bytes where it can be:
//! the derived `Cow` in an `Option` would always copy.

use serde::Deserialize;
use serde_json::value::RawValue;
use tool_core::Usage;

use super::super::fill::{Few, Fill, fill, filled};
use super::super::values::{Content, Count, Text};

filled! {
    /// An answer or a chunk of one.
    struct Answer {
        model: Text<'a>,
        choices: Few<Choice<'a>> = fill,
        usage: Option<Counts>,
        error: Option<&'a RawValue>,
    }

    struct Choice {
        index: Option<u64>,
        delta: Said<'a> = fill,
        /// Apart, so that a chunk, which has none, is small.
        message: Option<Box<Said<'a>>> = fill,
        finish_reason: Text<'a>,
        error: Option<&'a RawValue>,
    }

    /// A message or a piece of one.
    struct Said {
        content: Content<'a>,
        refusal: Text<'a>,
        reasoning_content: Text<'a>,
        reasoning: Text<'a>,
        reasoning_details: Option<&'a RawValue>,
        extra_content: Option<&'a RawValue>,
        tool_calls: Few<Call<'a>> = fill,
    }

    /// A call or a piece of one.
    struct Call {
        index: Option<u64>,
        id: Text<'a>,
        function: Function<'a> = fill,
        extra_content: Option<&'a RawValue>,
    }

    struct Function {
        name: Text<'a>,
        arguments: Text<'a>,
    }
}

impl<'a> Answer<'a> {
    pub(super) fn fill(&mut self, json: &'a str) -> Result<(), serde_json::Error> {
        fill(Fill(self), json)
    }
}

#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    reasoning_tokens: Count,
}

impl Counts {
    pub(super) fn usage(self) -> Usage {
        let prompt = self.prompt_tokens_details.unwrap_or_default();
        let completion = self.completion_tokens_details.unwrap_or_default();
        let cached = prompt.cached_tokens.0.max(self.prompt_cache_hit_tokens.0);
        Usage::new(self.prompt_tokens.0, self.completion_tokens.0)
            .with_cached_input_tokens(cached)
            .with_reasoning_tokens(completion.reasoning_tokens.0)
    }
}
