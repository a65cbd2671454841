//! The guide: it knows which tokens may come next, so that calls are valid by construction.

use std::ops::RangeInclusive;
use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use needle_infer::constrained::byte_table;
use needle_infer::sp_tokenizer::SpTokenizer;
use serde_json::{Value, json};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::compact::CompactTool;
use super::error::{EmbeddedError, EmbeddedErrorKind};
use super::lower::{Strictness, lower};

pub(super) const EOS: u32 = 1;
pub(super) const BOS: u32 = 2;
const MARKERS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<tools>",
    "</tools>",
    "<|im_start|>",
    "<|im_end|>",
];

/// Makes a [`Matcher`] for the tools of a question.
pub(super) struct Guide {
    factory: ParserFactory,
    words: Vec<Vec<u8>>,
}

/// What the calls of a question have to be.
pub(super) struct Rules<'a> {
    pub(super) tools: &'a [CompactTool],
    pub(super) calls: RangeInclusive<usize>,
    /// The longest string where a schema sets no limit, in characters.
    pub(super) longest: usize,
}

impl Guide {
    pub(super) fn new(tokenizer: &SpTokenizer, rows: usize) -> Result<Self, EmbeddedError> {
        let mut words = vec![Vec::new(); rows];
        for (id, bytes) in byte_table(tokenizer) {
            if let Some(word) = words.get_mut(id as usize) {
                *word = bytes;
            }
        }
        // A leading 0xFF keeps a marker apart from the same letters in a string.
        let markers = MARKERS
            .iter()
            .filter_map(|marker| Some((tokenizer.id_of(marker)?, *marker)));
        for (id, marker) in markers.chain([(EOS, "<eos>"), (BOS, "<bos>")]) {
            if let Some(word) = words.get_mut(id as usize) {
                *word = [b"\xFF", marker.as_bytes()].concat();
            }
        }
        let trie = TokTrie::from(&TokRxInfo::new(rows as u32, EOS), &words);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&env).map_err(|error| {
            EmbeddedError::new(
                EmbeddedErrorKind::Inference,
                "the guide of the embedded model does not fit it",
            )
            .with_source(error)
        })?;
        factory.quiet();
        Ok(Guide { factory, words })
    }

    /// The bytes a token stands for.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        self.words.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// Follows the schemas of the tools as far as it knows their words.
    pub(super) fn matcher(&self, rules: &Rules<'_>) -> Result<Matcher, EmbeddedError> {
        let whole = vec![Strictness::Full; rules.tools.len()];
        let matcher = self.compile(rules, &whole);
        if !matcher.is_error() {
            return Ok(matcher);
        }
        let levels: Result<Vec<_>, _> = rules
            .tools
            .iter()
            .map(|tool| self.strictness(tool, rules.longest))
            .collect();
        let matcher = self.compile(rules, &levels?);
        match matcher.get_error() {
            None => Ok(matcher),
            Some(why) => {
                let text = format!(
                    "the schemas of these tools together are too large for the embedded model: {why}"
                );
                Err(EmbeddedError::new(EmbeddedErrorKind::Schema, text))
            }
        }
    }

    fn strictness(&self, tool: &CompactTool, longest: usize) -> Result<Strictness, EmbeddedError> {
        let rules = Rules {
            tools: std::slice::from_ref(tool),
            calls: 1..=1,
            longest,
        };
        let mut why = None;
        for level in [Strictness::Full, Strictness::Shape] {
            match self.compile(&rules, &[level]).get_error() {
                None => return Ok(level),
                error => why = error,
            }
        }
        let text = format!(
            "the embedded model cannot follow the schema of the tool `{}`: {}",
            tool.name(),
            why.unwrap_or_default()
        );
        Err(EmbeddedError::new(EmbeddedErrorKind::Schema, text))
    }

    fn compile(&self, rules: &Rules<'_>, levels: &[Strictness]) -> Matcher {
        let mut definitions = serde_json::Map::new();
        let tools = rules
            .tools
            .iter()
            .zip(levels)
            .enumerate()
            .map(|(index, (tool, level))| {
                let arguments = lower(
                    tool.schema(),
                    index,
                    *level,
                    rules.longest,
                    &mut definitions,
                );
                json!({
                    "type": "object",
                    "properties": {"name": {"const": tool.name()}, "arguments": arguments},
                    "required": ["name", "arguments"],
                    "additionalProperties": false,
                })
            });
        let tools: Vec<Value> = tools.collect();
        let schema = json!({
            "x-guidance": {"whitespace_flexible": false, "coerce_one_of": true},
            "$defs": definitions,
            "type": "array",
            "minItems": rules.calls.start(),
            "maxItems": rules.calls.end(),
            "items": {"anyOf": tools},
        });
        Matcher::new(
            self.factory
                .create_parser(TopLevelGrammar::from_json_schema(schema)),
        )
    }
}
