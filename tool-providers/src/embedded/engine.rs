//! The model itself: question and tools in, calls out.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};

use llguidance::Matcher;
use needle_core::v3::{KvPrecision, V3Cache};
use needle_infer::v3_engine::V3Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::compact::CompactTool;
use super::error::{EmbeddedError, EmbeddedErrorKind};
use super::guide::{BOS, EOS, Guide, Rules};
use super::weights::Weights;

/// An answer the model is less sure of than this counts as "no tool fits".
const CONFIDENT: f32 = 0.4;
/// Tokens of reasoning, after which a call is demanded or given up.
const LONGEST_THOUGHT: usize = 160;
/// Tokens of the calls, not counting the strings taken from the question.
const LONGEST_CALLS: usize = 256;

/// The embedded model, loaded.
pub struct Engine {
    model: V3Engine,
    guide: Guide,
    start: u32,
    end: u32,
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
        self.confidence.is_none_or(|confidence| confidence >= CONFIDENT)
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
            let text = format!("the embedded model at {} does not load: {why}", path.display());
            EmbeddedError::new(EmbeddedErrorKind::Corrupt, text)
        };
        let model = V3Engine::from_bytes(bytes).map_err(|error| broken(error.to_string()))?;
        let marker = |name: &str| model.tokenizer.id_of(name).ok_or_else(|| broken(format!("it has no {name}")));
        let (start, end) = (marker("<tool_call>")?, marker("<|im_end|>")?);
        let guide = Guide::new(&model.tokenizer, model.model.cfg.logit_rows())?;
        Ok(Engine { model, guide, start, end })
    }

    /// Asks which tools to call, and with what. The same question gets the same answer.
    ///
    /// This keeps one core busy for a second or more.
    ///
    /// # Errors
    ///
    /// A schema that the guide cannot follow, or more text than the model can read.
    pub fn calls(&self, question: &Question<'_>, tools: &[CompactTool]) -> Result<Answer, EmbeddedError> {
        self.calls_unless(question, tools, &AtomicBool::new(false))
    }

    /// As [`calls`](Engine::calls), until `cancelled` is set.
    pub(super) fn calls_unless(
        &self,
        question: &Question<'_>,
        tools: &[CompactTool],
        cancelled: &AtomicBool,
    ) -> Result<Answer, EmbeddedError> {
        let prompt = prompt(question, tools.iter());
        // A string is nearly always copied from the question.
        let longest = question.text.chars().count().max(80);
        let rules = Rules { tools, calls: question.calls.clone(), longest };
        let mut run = Run::new(self, &prompt, &rules)?;
        run.think(*question.calls.start() > 0, cancelled)?;
        run.call(LONGEST_CALLS + longest, cancelled)?;
        let mut answer = run.answer()?;
        if *question.calls.start() == 0 && !answer.calls.is_empty() {
            // Judged without the tools that were not called: as sharp, and in a third of the time.
            let called = |tool: &&CompactTool| answer.calls.iter().any(|call| call.name == tool.name());
            let prompt = prompt(question, tools.iter().filter(called));
            answer.confidence = Some(self.confidence(&prompt, &run.written));
        }
        Ok(answer)
    }

    /// How sure the model is of what it wrote: a second pass over the prompt and the answer.
    fn confidence(&self, prompt: &str, written: &[u32]) -> f32 {
        let Some(head) = &self.model.confidence else { return 1.0 };
        let mut tokens = vec![BOS];
        tokens.extend(self.model.tokenizer.encode(prompt));
        tokens.extend(written);
        tokens.extend(self.model.tokenizer.id_of("</tool_call>"));
        let logit = self.model.model.forward_head(&tokens, head).first().copied().unwrap_or_default();
        1.0 / (1.0 + (-logit).exp())
    }
}

/// One answer in the making.
struct Run<'a> {
    engine: &'a Engine,
    matcher: Matcher,
    cache: V3Cache,
    prompt: Vec<u32>,
    logits: Vec<f32>,
    written: Vec<u32>,
    /// Where in `written` the calls start.
    calls: Option<usize>,
}

impl<'a> Run<'a> {
    fn new(engine: &'a Engine, prompt: &str, rules: &Rules<'_>) -> Result<Self, EmbeddedError> {
        let mut tokens = vec![BOS];
        tokens.extend(engine.model.tokenizer.encode(prompt));
        let config = &engine.model.model.cfg;
        let room = LONGEST_THOUGHT + LONGEST_CALLS + rules.longest;
        if tokens.len() + room > config.max_seq_len {
            let text = format!(
                "the question and the tools have {} tokens; the embedded model can read {}",
                tokens.len(),
                config.max_seq_len.saturating_sub(room)
            );
            return Err(EmbeddedError::new(EmbeddedErrorKind::ContextLength, text));
        }
        let matcher = engine.guide.matcher(rules)?;
        let mut cache = V3Cache::with_precision(config, tokens.len() + 128, KvPrecision::F32);
        let logits = engine.model.model.prefill(&tokens, &mut cache);
        Ok(Run { engine, matcher, cache, prompt: tokens, logits, written: Vec::new(), calls: None })
    }

    /// Writes up to the marker that starts the calls.
    fn think(&mut self, must_call: bool, cancelled: &AtomicBool) -> Result<(), EmbeddedError> {
        let (start, end) = (self.engine.start, self.engine.end);
        while self.calls.is_none() {
            stop_if(cancelled)?;
            let best = best(&self.logits, 0..self.logits.len() as u32);
            let ended = best == EOS || best == end || self.written.len() == LONGEST_THOUGHT;
            if ended && !must_call {
                return Ok(());
            }
            let token = if ended { start } else { best };
            self.write(token);
            if token == start {
                self.calls = Some(self.written.len());
            }
        }
        Ok(())
    }

    /// Writes the calls.
    fn call(&mut self, most: usize, cancelled: &AtomicBool) -> Result<(), EmbeddedError> {
        let Some(from) = self.calls else { return Ok(()) };
        while !self.matcher.is_stopped() && self.written.len() - from < most {
            stop_if(cancelled)?;
            let allowed = self.matcher.compute_mask().map_err(guide_failed)?;
            let known = self.logits.len() as u32;
            let token = best(&self.logits, allowed.iter().filter(|token| *token < known));
            if token == EOS {
                break;
            }
            self.matcher.consume_token(token).map_err(guide_failed)?;
            self.write(token);
        }
        Ok(())
    }

    fn write(&mut self, token: u32) {
        self.written.push(token);
        self.logits = self.engine.model.model.decode_step(&mut self.cache, token);
    }

    fn answer(&mut self) -> Result<Answer, EmbeddedError> {
        let from = self.calls.unwrap_or(self.written.len());
        let thought = self.engine.model.tokenizer.decode(&self.written[..from]);
        let cut_off = self.calls.is_some() && !self.matcher.is_accepting().unwrap_or(self.matcher.is_stopped());
        let calls = if self.calls.is_none() || cut_off {
            Vec::new()
        } else {
            let bytes: Vec<u8> = self.written[from..].iter().flat_map(|token| self.engine.guide.bytes(*token)).copied().collect();
            serde_json::from_slice(&bytes).map_err(guide_failed)?
        };
        Ok(Answer {
            calls,
            thought: V3Engine::reasoning(&thought).unwrap_or_default().to_owned(),
            confidence: None,
            cut_off,
            input_tokens: self.prompt.len() as u64,
            output_tokens: self.written.len() as u64,
        })
    }
}

fn prompt<'a>(question: &Question<'_>, tools: impl Iterator<Item = &'a CompactTool>) -> String {
    let tools: Vec<_> = tools.map(CompactTool::prompt).collect();
    V3Engine::build_prompt(question.text, &format!("[{}]", tools.join(",")), question.system)
}

/// The likeliest of these tokens.
fn best(logits: &[f32], tokens: impl Iterator<Item = u32>) -> u32 {
    let score = |token: u32| logits.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY);
    tokens.max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or(EOS)
}

fn stop_if(cancelled: &AtomicBool) -> Result<(), EmbeddedError> {
    if cancelled.load(Ordering::Relaxed) {
        return Err(EmbeddedError::new(EmbeddedErrorKind::Inference, "the embedded model was told to stop"));
    }
    Ok(())
}

fn guide_failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> EmbeddedError {
    EmbeddedError::new(EmbeddedErrorKind::Inference, "the guide of the embedded model failed").with_source(error)
}
