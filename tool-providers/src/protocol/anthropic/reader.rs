//! Bytes to deltas, for an answer that came whole and for every event of one that did not.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use tool_core::model::{Accumulator, Delta, DeltaSink};
use tool_core::{AssistantMessage, ModelError, RawItems};

use super::super::error::{in_answer, malformed};
use super::super::fill::{Fill, fill};
use super::super::{AnswerStream, json, unique_id};
use super::Anthropic;
use super::wire::{Answer, Block, Counts, Event, Piece, finish_reason};

/// Reads an answer that came whole.
pub(super) fn whole(
    protocol: &Anthropic,
    body: &[u8],
    sink: &mut DeltaSink<'_>,
) -> Result<AssistantMessage, ModelError> {
    let json = text(body);
    let mut answer = Answer::default();
    fill(Fill(&mut answer), &json).map_err(unexpected)?;
    if let Some(error) = answer.error {
        return Err(in_answer(error.get()));
    }
    let mut reader = Reader::new(protocol);
    reader.begin(&answer, sink);
    let Some(content) = answer.content else {
        return Err(malformed("the answer holds no content"));
    };
    for (index, block) in content.into_iter().enumerate() {
        reader.start(index as u64, block, sink)?;
        reader.stop(index as u64, sink);
    }
    reader.stopped(&answer.stop_reason.0, sink);
    reader.done = true;
    Box::new(reader).finish()
}

/// Turns what is on the wire into deltas, and those into a message.
#[derive(Debug)]
pub(super) struct Reader<'p> {
    protocol: &'p Anthropic,
    accumulator: Accumulator,
    blocks: Vec<Open>,
    ids: Vec<String>,
    /// Whether some ids are not those that were given.
    has_own_ids: bool,
    counts: Counts,
    has_stopped: bool,
    done: bool,
}

/// A block, and what was added to it.
#[derive(Debug)]
struct Open {
    index: u64,
    /// As it began.
    start: Box<str>,
    kind: Box<str>,
    /// The call that it is.
    slot: Option<usize>,
    /// The pieces of its text, its reasoning or its input.
    more: String,
    signature: String,
    citations: Vec<Box<RawValue>>,
    closed: bool,
}

impl<'p> Reader<'p> {
    pub(super) fn new(protocol: &'p Anthropic) -> Self {
        Reader {
            protocol,
            accumulator: Accumulator::default(),
            blocks: Vec::new(),
            ids: Vec::new(),
            has_own_ids: false,
            counts: Counts::default(),
            has_stopped: false,
            done: false,
        }
    }

    fn event(&mut self, event: Event<'_>, sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        match &*event.kind.0 {
            "message_start" => {
                if let Some(answer) = event.message {
                    self.begin(&answer, sink);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start(event.index.0, block, sink)?;
                }
            }
            "content_block_delta" => {
                self.piece(event.index.0, &event.delta, sink);
            }
            "content_block_stop" => self.stop(event.index.0, sink),
            "message_delta" => {
                if let Some(counts) = event.usage {
                    self.count(counts, sink);
                }
                self.stopped(&event.delta.stop_reason.0, sink);
            }
            "message_stop" => self.done = true,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, answer: &Answer<'_>, sink: &mut DeltaSink<'_>) {
        if !answer.model.0.is_empty() {
            self.emit(Delta::Model(&answer.model.0), sink);
        }
        if let Some(counts) = answer.usage {
            self.count(counts, sink);
        }
    }

    fn count(&mut self, counts: Counts, sink: &mut DeltaSink<'_>) {
        self.counts = self.counts.then(counts);
        self.emit(Delta::Usage(self.counts.usage()), sink);
    }

    fn start(
        &mut self,
        index: u64,
        raw: &RawValue,
        sink: &mut DeltaSink<'_>,
    ) -> Result<(), ModelError> {
        let block: Block<'_> = serde_json::from_str(raw.get()).map_err(unexpected)?;
        let mut slot = None;
        match &*block.kind.0 {
            "text" => self.emit(Delta::Text(&block.text.0), sink),
            "thinking" => self.emit(Delta::Thinking(&block.thinking.0), sink),
            "tool_use" => {
                let call = self.ids.len();
                slot = Some(call);
                let name = &*block.name.0;
                let id = unique_id(&block.id.0, &self.ids);
                self.has_own_ids |= id != *block.id.0;
                self.emit(
                    Delta::CallStart {
                        slot: call,
                        id: &id,
                        name,
                    },
                    sink,
                );
                self.ids.push(id);
                // In a stream the input begins empty and comes in pieces.
                let input = block.input.map_or("{}", RawValue::get);
                if input
                    .as_bytes()
                    .iter()
                    .any(|byte| !b"{} \t\r\n".contains(byte))
                {
                    self.emit(
                        Delta::CallArguments {
                            slot: call,
                            text: input,
                        },
                        sink,
                    );
                }
            }
            _ => {}
        }
        self.blocks.push(Open {
            index,
            start: raw.get().into(),
            kind: (*block.kind.0).into(),
            slot,
            more: String::new(),
            signature: String::new(),
            citations: Vec::new(),
            closed: false,
        });
        Ok(())
    }

    fn piece(&mut self, index: u64, piece: &Piece<'_>, sink: &mut DeltaSink<'_>) {
        let known = self.blocks.iter_mut().rev();
        let Some(open) = known.into_iter().find(|block| block.index == index) else {
            return;
        };
        let slot = open.slot;
        let delta = match &*piece.kind.0 {
            "text_delta" => {
                open.more.push_str(&piece.text.0);
                Delta::Text(&piece.text.0)
            }
            "thinking_delta" => {
                open.more.push_str(&piece.thinking.0);
                Delta::Thinking(&piece.thinking.0)
            }
            "input_json_delta" => {
                open.more.push_str(&piece.partial_json.0);
                match (slot, &*piece.partial_json.0) {
                    (Some(slot), text) if !text.is_empty() => Delta::CallArguments { slot, text },
                    _ => return,
                }
            }
            "signature_delta" => {
                open.signature.push_str(&piece.signature.0);
                return;
            }
            "citations_delta" => {
                open.citations.extend(piece.citation.map(ToOwned::to_owned));
                return;
            }
            _ => return,
        };
        self.emit(delta, sink);
    }

    fn stop(&mut self, index: u64, _: &mut DeltaSink<'_>) {
        if let Some(block) = self
            .blocks
            .iter_mut()
            .rev()
            .find(|block| block.index == index)
        {
            block.closed = true;
        }
    }

    fn stopped(&mut self, reason: &str, sink: &mut DeltaSink<'_>) {
        if !reason.is_empty() {
            self.has_stopped = true;
            self.emit(Delta::Finish(finish_reason(reason)), sink);
        }
    }

    fn emit(&mut self, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        if !matches!(delta, Delta::Text("") | Delta::Thinking("")) {
            self.accumulator.push(&delta);
            sink(&delta);
        }
    }

    /// What is replayed: all blocks, unless they are words alone or calls without ids.
    fn raw(&self) -> Option<RawItems> {
        let is_plain = |block: &Open| &*block.kind == "text" && block.citations.is_empty();
        if self.has_own_ids || self.blocks.iter().all(is_plain) {
            return None;
        }
        let blocks: Vec<Box<str>> = self.blocks.iter().filter_map(Open::whole).collect();
        (!blocks.is_empty()).then(|| RawItems {
            origin: self.protocol.origin.clone(),
            json: format!("[{}]", blocks.join(",")),
        })
    }
}

impl Open {
    /// The block as the provider takes it back; `None`: it does not.
    fn whole(&self) -> Option<Box<str>> {
        let is = |kind: &str| &*self.kind == kind;
        let is_changed =
            !(self.more.is_empty() && self.signature.is_empty() && self.citations.is_empty());
        let mut members: Map<String, Value> = serde_json::from_str(&self.start).ok()?;
        let began = |key: &str| members.get(key).and_then(Value::as_str).unwrap_or_default();
        if is("thinking") && self.signature.is_empty() && began("signature").is_empty() {
            // Cut off before it was signed.
            return None;
        }
        // Text of white space alone is refused.
        if is("text") && self.more.trim().is_empty() && began("text").trim().is_empty() {
            return None;
        }
        if !is_changed {
            return Some(self.start.clone());
        }
        for (key, more) in [
            ("text", &self.more),
            ("thinking", &self.more),
            ("signature", &self.signature),
        ] {
            if (is(key) || key == "signature") && !more.is_empty() {
                let known = members.get(key).and_then(Value::as_str).unwrap_or_default();
                members.insert(key.into(), format!("{known}{more}").into());
            }
        }
        if !self.citations.is_empty() {
            members.insert("citations".into(), serde_json::json!(self.citations));
        }
        if is("text") || is("thinking") || self.more.is_empty() {
            return Some(to_raw_value(&members).ok()?.get().into());
        }
        // The input as the model wrote it: numbers would not survive being read.
        members.shift_remove("input");
        let mut out = Vec::new();
        json::value(&mut out, &members);
        out.pop();
        json::separate(&mut out);
        json::key(&mut out, "input");
        out.extend_from_slice(json::arguments(&self.more).as_bytes());
        out.push(b'}');
        String::from_utf8(out).ok().map(Into::into)
    }
}

impl AnswerStream for Reader<'_> {
    fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if self.done || data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let json = text(data);
        let mut event = Event::default();
        fill(Fill(&mut event), &json).map_err(unexpected)?;
        match event.error {
            Some(error) => Err(in_answer(error.get())),
            None => self.event(event, sink),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>) -> Result<AssistantMessage, ModelError> {
        if !self.done || !self.has_stopped {
            return Err(malformed("the stream ended before the answer was whole"));
        }
        if self.blocks.iter().any(|block| !block.closed) {
            return Err(malformed(
                "the stream ended before all blocks of the answer did",
            ));
        }
        let mut message = std::mem::take(&mut self.accumulator).finish();
        if message.tool_calls().any(|call| call.name.is_empty()) {
            return Err(malformed("the answer holds a call without a name"));
        }
        message.raw = self.raw();
        Ok(message)
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::from)
}

fn unexpected(error: serde_json::Error) -> ModelError {
    malformed(format!("the answer is not what was expected: {error}")).with_source(error)
}
