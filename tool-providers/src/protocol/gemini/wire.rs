//! What an answer, or a chunk of one, looks like on the wire.

use serde::Deserialize;
use serde_json::value::RawValue;
use tool_core::Usage;

use super::super::fill::{Few, filled};
use super::super::values::{Count, Text};

filled! {
    /// An answer or a chunk of one.
    struct Answer {
        candidates: Few<Candidate<'a>> = fill,
        usage as "usageMetadata": Option<Counts>,
        model as "modelVersion": Text<'a>,
        feedback as "promptFeedback": Feedback<'a> = fill,
        error: Option<&'a RawValue>,
    }

    struct Feedback {
        block_reason as "blockReason": Text<'a>,
    }

    struct Candidate {
        index: Count,
        content: Content<'a> = fill,
        finish as "finishReason": Text<'a>,
        finish_message as "finishMessage": Text<'a>,
    }

    struct Content {
        parts: Option<Vec<&'a RawValue>>,
    }
}

/// A part that is words and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(default)]
    pub(super) thought: bool,
}

/// Any part.
#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(borrow, default, rename = "functionCall")]
    pub(super) call: Option<Call<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default, rename = "promptTokenCount")]
    prompt: Count,
    #[serde(default, rename = "toolUsePromptTokenCount")]
    tool_use: Count,
    #[serde(default, rename = "candidatesTokenCount")]
    candidates: Count,
    #[serde(default, rename = "thoughtsTokenCount")]
    thoughts: Count,
    #[serde(default, rename = "cachedContentTokenCount")]
    cached: Count,
}

impl Counts {
    /// Here the tokens of the candidates leave out those of thoughts.
    pub(super) fn usage(&self) -> Usage {
        let thoughts = self.thoughts.0;
        Usage::new(
            self.prompt.0 + self.tool_use.0,
            self.candidates.0 + thoughts,
        )
        .with_cached_input_tokens(self.cached.0)
        .with_reasoning_tokens(thoughts)
    }
}
