//! Writing an answer, one token after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use llguidance::Matcher;
use needle_core::v3::{KvPrecision, V3Cache};
use needle_infer::v3_engine::V3Engine;

use super::engine::{Answer, Engine};
use super::error::{EmbeddedError, EmbeddedErrorKind};
use super::guide::{BOS, EOS, Rules};

/// Tokens of reasoning, after which a call is demanded or given up.
const LONGEST_THOUGHT: usize = 160;
/// Tokens of the calls, not counting the strings taken from the question.
const LONGEST_CALLS: usize = 256;

/// One answer in the making.
pub(super) struct Run<'a> {
    engine: &'a Engine,
    matcher: Matcher,
    cache: V3Cache,
    prompt: Vec<u32>,
    logits: Vec<f32>,
    written: Vec<u32>,
    /// Where in `written` the calls start.
    calls: Option<usize>,
    longest_calls: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        prompt: &str,
        rules: &Rules<'_>,
    ) -> Result<Self, EmbeddedError> {
        let mut tokens = vec![BOS];
        tokens.extend(engine.model.tokenizer.encode(prompt));
        let config = &engine.model.model.cfg;
        let longest_calls = LONGEST_CALLS + rules.longest;
        let room = LONGEST_THOUGHT + longest_calls;
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
        Ok(Run {
            engine,
            matcher,
            cache,
            prompt: tokens,
            logits,
            written: Vec::new(),
            calls: None,
            longest_calls,
        })
    }

    /// Writes up to the marker that starts the calls.
    pub(super) fn think(
        &mut self,
        must_call: bool,
        cancelled: &AtomicBool,
    ) -> Result<(), EmbeddedError> {
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
    pub(super) fn call(&mut self, cancelled: &AtomicBool) -> Result<(), EmbeddedError> {
        let Some(from) = self.calls else {
            return Ok(());
        };
        while !self.matcher.is_stopped() && self.written.len() - from < self.longest_calls {
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

    /// Thought and calls.
    pub(super) fn written(&self) -> &[u32] {
        &self.written
    }

    fn write(&mut self, token: u32) {
        self.written.push(token);
        self.logits = self.engine.model.model.decode_step(&mut self.cache, token);
    }

    pub(super) fn answer(&mut self) -> Result<Answer, EmbeddedError> {
        let from = self.calls.unwrap_or(self.written.len());
        let thought = self.engine.model.tokenizer.decode(&self.written[..from]);
        let cut_off = self.calls.is_some()
            && !self
                .matcher
                .is_accepting()
                .unwrap_or(self.matcher.is_stopped());
        let calls = if self.calls.is_none() || cut_off {
            Vec::new()
        } else {
            let bytes: Vec<u8> = self.written[from..]
                .iter()
                .flat_map(|token| self.engine.guide.bytes(*token))
                .copied()
                .collect();
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

/// The likeliest of these tokens.
fn best(logits: &[f32], tokens: impl Iterator<Item = u32>) -> u32 {
    let score = |token: u32| {
        logits
            .get(token as usize)
            .copied()
            .unwrap_or(f32::NEG_INFINITY)
    };
    tokens
        .max_by(|a, b| score(*a).total_cmp(&score(*b)))
        .unwrap_or(EOS)
}

fn stop_if(cancelled: &AtomicBool) -> Result<(), EmbeddedError> {
    if cancelled.load(Ordering::Relaxed) {
        return Err(EmbeddedError::new(
            EmbeddedErrorKind::Inference,
            "the embedded model was told to stop",
        ));
    }
    Ok(())
}

fn guide_failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> EmbeddedError {
    EmbeddedError::new(
        EmbeddedErrorKind::Inference,
        "the guide of the embedded model failed",
    )
    .with_source(error)
}
