//! What an answer, or an event of one, looks like on the wire.

use serde::Deserialize;
use serde_json::value::RawValue;
use tool_core::{FinishReason, Usage};

use super::super::values::{Count, Text};

/// An event of a stream.
#[derive(Default, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) output_index: Count,
    #[serde(borrow, default)]
    pub(super) delta: Text<'a>,
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// An answer.
#[derive(Default, Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow, default)]
    pub(super) status: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow, default)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
    #[serde(borrow, default)]
    pub(super) incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow, default)]
    pub(super) reason: Text<'a>,
}

impl Incomplete<'_> {
    pub(super) fn finish(&self) -> FinishReason {
        match &*self.reason.0 {
            "max_output_tokens" => FinishReason::Length,
            "content_filter" => FinishReason::ContentFilter,
            other => FinishReason::Other(other.into()),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    input_tokens_details: Option<Details>,
    #[serde(default)]
    output_tokens_details: Option<Details>,
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
        let input = self.input_tokens_details.unwrap_or_default();
        let output = self.output_tokens_details.unwrap_or_default();
        Usage::new(self.input_tokens.0, self.output_tokens.0)
            .with_cached_input_tokens(input.cached_tokens.0)
            .with_reasoning_tokens(output.reasoning_tokens.0)
    }
}

/// One item of an output.
#[derive(Default, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Text<'a>,
    #[serde(borrow, default)]
    pub(super) server_label: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
}

impl Item<'_> {
    /// The words of a message, or the reasoning of an item that is reasoning.
    pub(super) fn words(&self) -> Vec<String> {
        let parts = |json: Option<&RawValue>| -> Vec<String> {
            let json = json.map_or("null", RawValue::get);
            if let Ok(parts) = serde_json::from_str::<Vec<Part<'_>>>(json) {
                let texts = parts
                    .iter()
                    .map(|part| format!("{}{}", part.text.0, part.refusal.0));
                return texts.filter(|text| !text.is_empty()).collect();
            }
            serde_json::from_str::<String>(json).into_iter().collect()
        };
        let mut words = parts(self.summary);
        words.extend(parts(self.content));
        words
    }
}
