//! Bytes to deltas, for an answer that came whole and for every chunk of one that did not.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tool_core::model::{Accumulator, Delta, DeltaSink};
use tool_core::{AssistantMessage, FinishReason, ModelError, ModelErrorKind, RawItems};

use super::super::error::{in_answer, malformed};
use super::super::fill::{Fill, fill};
use super::super::{AnswerStream, json, unique_id};
use super::Gemini;
use super::wire::{Answer, Candidate, Part, Words};

/// Reads an answer that came whole.
pub(super) fn whole(
    protocol: &Gemini,
    body: &[u8],
    sink: &mut DeltaSink<'_>,
) -> Result<AssistantMessage, ModelError> {
    let mut reader = Reader::new(protocol);
    reader.read(body, sink)?;
    if !reader.has_candidate {
        return Err(malformed("the answer holds no candidate"));
    }
    Box::new(reader).finish()
}

/// Turns what is on the wire into deltas, and those into a message.
#[derive(Debug)]
pub(super) struct Reader<'p> {
    protocol: &'p Gemini,
    accumulator: Accumulator,
    parts: Vec<Kept>,
    ids: Vec<String>,
    has_model: bool,
    has_candidate: bool,
    finished: bool,
}

/// A part, to be replayed.
#[derive(Debug)]
enum Kept {
    /// Words that nothing else was said with; more may follow.
    Words { text: String, thought: bool },
    /// As it came.
    Verbatim(Box<str>),
}

impl<'p> Reader<'p> {
    pub(super) fn new(protocol: &'p Gemini) -> Self {
        Reader {
            protocol,
            accumulator: Accumulator::default(),
            parts: Vec::new(),
            ids: Vec::new(),
            has_model: false,
            has_candidate: false,
            finished: false,
        }
    }

    fn read(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        let json =
            std::str::from_utf8(data).map_or_else(|_| String::from_utf8_lossy(data), Cow::from);
        let mut answer = Answer::default();
        fill(Fill(&mut answer), &json).map_err(unexpected)?;
        if let Some(error) = answer.error {
            return Err(in_answer(error.get()));
        }
        if !self.has_model && !answer.model.0.is_empty() {
            self.has_model = true;
            self.emit(Delta::Model(&answer.model.0), sink);
        }
        let blocked = &answer.feedback.block_reason.0;
        if !blocked.is_empty() && answer.candidates.iter().next().is_none() {
            let text = format!("the provider blocked the prompt: {blocked}");
            return Err(ModelError::new(ModelErrorKind::BadRequest, text));
        }
        let first = |candidate: &&Candidate<'_>| candidate.index.0 == 0;
        for candidate in answer.candidates.iter().filter(first) {
            self.candidate(candidate, sink)?;
        }
        if let Some(counts) = answer.usage {
            self.emit(Delta::Usage(counts.usage()), sink);
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: &Candidate<'_>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<(), ModelError> {
        self.has_candidate = true;
        for part in candidate.content.parts.iter().flatten() {
            self.part(part, sink)?;
        }
        let finish = match &*candidate.finish.0 {
            "" => return Ok(()),
            "STOP" if !self.ids.is_empty() => FinishReason::ToolCalls,
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => FinishReason::ContentFilter,
            "MALFORMED_FUNCTION_CALL" => {
                let text = match &*candidate.finish_message.0 {
                    "" => "the model wrote a call that cannot be read",
                    text => text,
                };
                return Err(ModelError::new(ModelErrorKind::Server, text));
            }
            other => FinishReason::Other(other.into()),
        };
        self.finished = true;
        self.emit(Delta::Finish(finish), sink);
        Ok(())
    }

    fn part(&mut self, raw: &RawValue, sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        if let Ok(words) = serde_json::from_str::<Words<'_>>(raw.get()) {
            match self.parts.last_mut() {
                Some(Kept::Words { text, thought }) if *thought == words.thought => {
                    text.push_str(&words.text.0);
                }
                _ => self.parts.push(Kept::Words {
                    text: (*words.text.0).into(),
                    thought: words.thought,
                }),
            }
            self.said(&words.text.0, words.thought, sink);
            return Ok(());
        }
        let part: Part<'_> = serde_json::from_str(raw.get()).map_err(unexpected)?;
        self.parts.push(Kept::Verbatim(raw.get().into()));
        self.said(&part.text.0, part.thought == Some(true), sink);
        let Some(call) = part.call else {
            return Ok(());
        };
        if call.name.0.is_empty() {
            return Err(malformed("the answer holds a call without a name"));
        }
        let slot = self.ids.len();
        let given = &*call.id.0;
        let id = unique_id(given, &self.ids);
        self.emit(
            Delta::CallStart {
                slot,
                id: &id,
                name: &call.name.0,
            },
            sink,
        );
        self.ids.push(id);
        if let Some(args) = call.args {
            self.emit(
                Delta::CallArguments {
                    slot,
                    text: args.get(),
                },
                sink,
            );
        }
        if !given.is_empty() {
            let mut state = Vec::new();
            json::value(&mut state, given);
            let json = &*String::from_utf8_lossy(&state);
            self.emit(Delta::CallState { slot, json }, sink);
        }
        Ok(())
    }

    fn said(&mut self, text: &str, thought: bool, sink: &mut DeltaSink<'_>) {
        match thought {
            true => self.emit(Delta::Thinking(text), sink),
            false => self.emit(Delta::Text(text), sink),
        }
    }

    fn emit(&mut self, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        if !matches!(delta, Delta::Text("") | Delta::Thinking("")) {
            self.accumulator.push(&delta);
            sink(&delta);
        }
    }

    /// What is replayed: all parts, unless they are words alone.
    fn raw(&self) -> Option<RawItems> {
        if self
            .parts
            .iter()
            .all(|part| matches!(part, Kept::Words { .. }))
        {
            return None;
        }
        let mut out = Vec::from(b"[");
        for part in &self.parts {
            match part {
                // Thoughts that nothing is signed with are not wanted back.
                Kept::Words { thought: true, .. } => {}
                Kept::Words { text, .. } if text.is_empty() => {}
                Kept::Words { text, .. } => {
                    json::separate(&mut out);
                    out.extend_from_slice(b"{\"text\":");
                    json::value(&mut out, text);
                    out.push(b'}');
                }
                Kept::Verbatim(part) => {
                    json::separate(&mut out);
                    out.extend_from_slice(part.as_bytes());
                }
            }
        }
        out.push(b']');
        Some(RawItems {
            origin: self.protocol.origin.clone(),
            json: String::from_utf8(out).ok()?,
        })
    }
}

impl AnswerStream for Reader<'_> {
    fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        match data.trim_ascii() {
            b"" | b"[DONE]" => Ok(()),
            data => self.read(data, sink),
        }
    }

    /// Nothing says so but the end of the connection: more may follow the reason to finish.
    fn is_done(&self) -> bool {
        false
    }

    fn finish(mut self: Box<Self>) -> Result<AssistantMessage, ModelError> {
        if !self.finished {
            return Err(malformed("the stream ended before the answer was whole"));
        }
        let mut message = std::mem::take(&mut self.accumulator).finish();
        message.raw = self.raw();
        Ok(message)
    }
}

fn unexpected(error: serde_json::Error) -> ModelError {
    malformed(format!("the answer is not what was expected: {error}")).with_source(error)
}
