//! What an answer, or an event of one, looks like on the wire.

use serde::Deserialize;
use serde_json::value::RawValue;
use tool_core::{FinishReason, Usage};

use super::super::fill::filled;
use super::super::values::{Count, Text};

filled! {
    /// An event of a stream.
    struct Event {
        kind as "type": Text<'a>,
        index: Count,
        /// Apart, so that an event, which mostly has none, is small.
        message: Option<Box<Answer<'a>>> = fill,
        content_block: Option<&'a RawValue>,
        delta: Piece<'a> = fill,
        usage: Option<Counts>,
        error: Option<&'a RawValue>,
    }

    /// A piece of a block, or what is known at the end.
    struct Piece {
        kind as "type": Text<'a>,
        text: Text<'a>,
        thinking: Text<'a>,
        signature: Text<'a>,
        partial_json: Text<'a>,
        citation: Option<&'a RawValue>,
        stop_reason: Text<'a>,
    }

    /// An answer.
    struct Answer {
        model: Text<'a>,
        content: Option<Vec<&'a RawValue>>,
        stop_reason: Text<'a>,
        usage: Option<Counts>,
        error: Option<&'a RawValue>,
    }
}

/// One block of an answer.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
}

/// Tokens so far. What a later event does not say is as it was.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    input_tokens: Option<Count>,
    #[serde(default)]
    output_tokens: Option<Count>,
    #[serde(default)]
    cache_read_input_tokens: Option<Count>,
    #[serde(default)]
    cache_creation_input_tokens: Option<Count>,
    #[serde(default)]
    output_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Details {
    #[serde(default)]
    thinking_tokens: Count,
}

impl Counts {
    pub(super) fn then(self, later: Counts) -> Counts {
        Counts {
            input_tokens: later.input_tokens.or(self.input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            cache_read_input_tokens: later
                .cache_read_input_tokens
                .or(self.cache_read_input_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
        }
    }

    /// Here `input_tokens` leaves out what was read from and written to the cache.
    pub(super) fn usage(self) -> Usage {
        let count = |count: Option<Count>| count.unwrap_or_default().0;
        let cached = count(self.cache_read_input_tokens);
        let input = count(self.input_tokens) + cached + count(self.cache_creation_input_tokens);
        Usage::new(input, count(self.output_tokens))
            .with_cached_input_tokens(cached)
            .with_reasoning_tokens(
                self.output_tokens_details
                    .unwrap_or_default()
                    .thinking_tokens
                    .0,
            )
    }
}

pub(super) fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        "pause_turn" => FinishReason::Interrupted,
        other => FinishReason::Other(other.into()),
    }
}
