//! The model itself: question and tools in, calls out.

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;

use needle_infer::v3_engine::V3Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::compact::CompactTool;
use super::decode::Run;
use super::error::{EmbeddedError, EmbeddedErrorKind};
use super::guide::{BOS, Guide, Rules};
use super::weights::Weights;

/// An answer the model is less sure of than this counts as "no tool fits".
const CONFIDENT: f32 = 0.4;
/// The embedded model, loaded.
pub struct Engine {
    pub(super) model: V3Engine,
    pub(super) guide: Guide,
    /// The marker before the calls.
    pub(super) start: u32,
    /// The marker after the answer.
    pub(super) end: u32,
}

/// What the model is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// What the user said.
    pub text: &'a str,
    /// Facts and rules that go before it.
    pub system: Option<&'a str>,
    /// How many calls are wanted. From 1 up, the model must call.
    pub calls: RangeInclusive<usize>,
}

/// What the model answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The calls that fit best; none if the model saw that no tool fits.
    pub calls: Vec<Call>,
    /// What the model noted to itself before it answered.
    pub thought: String,
    /// How sure the model is of its answer, from 0 to 1. `None` if it had no choice.
    pub confidence: Option<f32>,
    /// Whether the answer grew too long and was given up.
    pub cut_off: bool,
    /// Tokens of the question and the tools.
    pub input_tokens: u64,
    /// Tokens of thought and calls.
    pub output_tokens: u64,
}

/// One call that the model asks for.
#[derive(Clone, Debug, Deserialize)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON text.
    pub arguments: Box<RawValue>,
}

impl Answer {
    /// Whether the calls are worth making: the model had no choice, or is sure enough of them.
    pub fn is_confident(&self) -> bool {
        self.confidence
            .is_none_or(|confidence| confidence >= CONFIDENT)
    }
}

impl Engine {
    /// Reads the model, and fetches it first if need be.
    ///
    /// # Errors
    ///
    /// The file cannot be had, or is not the model.
    pub fn load(weights: &Weights) -> Result<Self, EmbeddedError> {
        let (path, bytes) = weights.load()?;
        let broken = |why: String| {
            let text = format!(
                "the embedded model at {} does not load: {why}",
                path.display()
            );
            EmbeddedError::new(EmbeddedErrorKind::Corrupt, text)
        };
        let model = V3Engine::from_bytes(bytes).map_err(|error| broken(error.to_string()))?;
        let marker = |name: &str| {
            model
                .tokenizer
                .id_of(name)
                .ok_or_else(|| broken(format!("it has no {name}")))
        };
        let (start, end) = (marker("<tool_call>")?, marker("<|im_end|>")?);
        let guide = Guide::new(&model.tokenizer, model.model.cfg.logit_rows())?;
        Ok(Engine {
            model,
            guide,
            start,
            end,
        })
    }

    /// Asks which tools to call, and with what. The same question gets the same answer.
    ///
    /// This keeps one core busy for a second or more.
    ///
    /// # Errors
    ///
    /// A schema that the guide cannot follow, or more text than the model can read.
    pub fn calls(
        &self,
        question: &Question<'_>,
        tools: &[CompactTool],
    ) -> Result<Answer, EmbeddedError> {
        self.calls_unless(question, tools, &AtomicBool::new(false))
    }

    /// As [`calls`](Engine::calls), until `cancelled` is set.
    pub(super) fn calls_unless(
        &self,
        question: &Question<'_>,
        tools: &[CompactTool],
        cancelled: &AtomicBool,
    ) -> Result<Answer, EmbeddedError> {
        let prompt = prompt_of(question, tools.iter());
        // A string is nearly always copied from the question.
        let longest = question.text.chars().count().max(80);
        let rules = Rules {
            tools,
            calls: question.calls.clone(),
            longest,
        };
        let mut run = Run::new(self, &prompt, &rules)?;
        run.think(*question.calls.start() > 0, cancelled)?;
        run.call(cancelled)?;
        let mut answer = run.answer()?;
        if *question.calls.start() == 0 && !answer.calls.is_empty() {
            // Judged without the tools that were not called, which takes a fraction of the time.
            let called =
                |tool: &&CompactTool| answer.calls.iter().any(|call| call.name == tool.name());
            let prompt = prompt_of(question, tools.iter().filter(called));
            answer.confidence = Some(self.confidence(&prompt, run.written()));
        }
        Ok(answer)
    }

    /// How sure the model is of what it wrote: a second pass over the prompt and the answer.
    fn confidence(&self, prompt: &str, written: &[u32]) -> f32 {
        let Some(head) = &self.model.confidence else {
            return 1.0;
        };
        let mut tokens = vec![BOS];
        tokens.extend(self.model.tokenizer.encode(prompt));
        tokens.extend(written);
        tokens.extend(self.model.tokenizer.id_of("</tool_call>"));
        let logit = self
            .model
            .model
            .forward_head(&tokens, head)
            .first()
            .copied()
            .unwrap_or_default();
        1.0 / (1.0 + (-logit).exp())
    }
}

fn prompt_of<'a>(question: &Question<'_>, tools: impl Iterator<Item = &'a CompactTool>) -> String {
    let tools: Vec<_> = tools.map(CompactTool::prompt).collect();
    V3Engine::build_prompt(
        question.text,
        &format!("[{}]", tools.join(",")),
        question.system,
    )
}
