//! Bytes to deltas, for an answer that came whole and for every chunk of one that did not.

use std::borrow::Cow;

use tool_core::model::{Accumulator, Delta, DeltaSink};
use tool_core::{AssistantMessage, FinishReason, ModelError, ModelErrorKind};

use super::super::error::{in_answer, malformed};
use super::super::values::Content;
use super::ChatCompletions;
use super::calls::Calls;
use super::reasoning::Extras;
use super::wire::{Answer, Call, Choice, Said};

/// Reads an answer that came whole.
pub(super) fn answer(
    protocol: &ChatCompletions,
    body: &[u8],
    sink: &mut DeltaSink<'_>,
) -> Result<AssistantMessage, ModelError> {
    let mut reader = Reader::new(protocol, Mode::Whole);
    reader.read(body, sink)?;
    reader.ended();
    reader.finish()
}

/// Whether each call comes in one piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Whole,
    Pieces,
}

/// Turns what is on the wire into deltas, and those into a message.
#[derive(Debug)]
pub(super) struct Reader<'p> {
    protocol: &'p ChatCompletions,
    mode: Mode,
    accumulator: Accumulator,
    calls: Calls,
    extras: Extras,
    has_model: bool,
    has_choice: bool,
    /// Whether the answer is to end with calls.
    wants_tools: bool,
    /// Whether the host said that the answer is over.
    finished: bool,
}

impl<'p> Reader<'p> {
    pub(super) fn new(protocol: &'p ChatCompletions, mode: Mode) -> Self {
        Reader {
            protocol,
            mode,
            accumulator: Accumulator::default(),
            calls: Calls::default(),
            extras: Extras::default(),
            has_model: false,
            has_choice: false,
            wants_tools: false,
            finished: false,
        }
    }

    /// Reads an answer or a chunk of one.
    pub(super) fn read(&mut self, json: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        // Checked once here, the text is not checked again string by string.
        let json =
            std::str::from_utf8(json).map_or_else(|_| String::from_utf8_lossy(json), Cow::from);
        let mut answer = Answer::default();
        answer.fill(&json).map_err(|error| {
            malformed(format!("the answer is not what was expected: {error}")).with_source(error)
        })?;
        if let Some(error) = answer.error {
            return Err(in_answer(error.get()));
        }
        if !self.has_model && !answer.model.0.is_empty() {
            self.has_model = true;
            self.emit(Delta::Model(&answer.model.0), sink);
        }
        for choice in answer.choices.iter() {
            if choice.index.unwrap_or_default() == 0 {
                self.choice(choice, sink)?;
            }
        }
        if let Some(counts) = answer.usage {
            self.emit(Delta::Usage(counts.usage()), sink);
        }
        Ok(())
    }

    /// The host said that nothing more comes. Without a reason to finish, that is enough for words, but
    /// a call may be cut off.
    pub(super) fn ended(&mut self) {
        self.finished |= self.has_choice && self.calls.is_empty();
        if self.mode == Mode::Whole {
            self.finished |= self.has_choice;
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        if let Some(error) = choice.error {
            return Err(in_answer(error.get()));
        }
        self.has_choice |= self.mode == Mode::Pieces || choice.message.is_some();
        match (self.mode, &choice.message) {
            (Mode::Pieces, _) => self.said(&choice.delta, sink),
            (Mode::Whole, Some(message)) => self.said(message, sink),
            (Mode::Whole, None) => {}
        }
        match &*choice.finish_reason.0 {
            "" => {}
            // Words of hosts that give up in the middle of an answer.
            "error" | "insufficient_system_resource" => {
                let text = format!(
                    "the provider gave up on the answer: `{}`",
                    choice.finish_reason.0
                );
                return Err(ModelError::new(ModelErrorKind::Server, text));
            }
            reason => {
                self.finished = true;
                self.wants_tools = matches!(reason, "tool_calls" | "function_call");
                self.emit(Delta::Finish(finish_reason(reason)), sink);
            }
        }
        Ok(())
    }

    fn said(&mut self, said: &Said<'_>, sink: &mut DeltaSink<'_>) {
        self.extras.take(said);
        let thinking = match &*said.reasoning_content.0 {
            "" => &said.reasoning.0,
            _ => &said.reasoning_content.0,
        };
        self.emit(Delta::Thinking(thinking), sink);
        match &said.content {
            Content::Text(text) => self.emit(Delta::Text(text), sink),
            Content::Parts(parts) => {
                for part in parts {
                    if let Some(thinking) = &part.thinking {
                        self.extras.parts = true;
                        self.thinking(thinking, sink);
                    }
                    self.emit(Delta::Text(&part.text.0), sink);
                }
            }
        }
        self.emit(Delta::Text(&said.refusal.0), sink);
        for call in said.tool_calls.iter() {
            self.call(call, sink);
        }
    }

    fn thinking(&mut self, thinking: &Content<'_>, sink: &mut DeltaSink<'_>) {
        match thinking {
            Content::Text(text) => self.emit(Delta::Thinking(text), sink),
            Content::Parts(parts) => {
                for part in parts {
                    self.emit(Delta::Thinking(&part.text.0), sink);
                }
            }
        }
    }

    fn call(&mut self, call: &Call<'_>, sink: &mut DeltaSink<'_>) {
        let placed = match self.mode {
            Mode::Whole => self.calls.begin(call),
            Mode::Pieces => self.calls.place(call),
        };
        let slot = placed.slot;
        let mut emit = |delta: Delta<'_>| emit(&mut self.accumulator, delta, sink);
        if let Some((id, name)) = placed.start {
            emit(Delta::CallStart { slot, id, name });
            if !placed.early.is_empty() {
                let text = placed.early;
                emit(Delta::CallArguments { slot, text });
            }
        }
        let text = &*call.function.arguments.0;
        if placed.started && !text.is_empty() {
            emit(Delta::CallArguments { slot, text });
        }
        if let Some(extra) = call.extra_content {
            self.extras.on_calls = true;
            let json = format!("{{\"extra_content\":{}}}", extra.get());
            emit(Delta::CallState { slot, json: &json });
        }
    }

    fn emit(&mut self, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        if !matches!(delta, Delta::Text("") | Delta::Thinking("")) {
            emit(&mut self.accumulator, delta, sink);
        }
    }

    /// The message, if the answer is whole.
    pub(super) fn finish(self) -> Result<AssistantMessage, ModelError> {
        if !self.has_choice {
            return Err(malformed("the answer holds no message"));
        }
        if !self.finished {
            return Err(malformed("the stream ended before the answer was whole"));
        }
        if self.calls.is_empty() && self.wants_tools {
            return Err(malformed(
                "the answer ends with calls, but holds none that can be read",
            ));
        }
        if !self.calls.are_whole() {
            return Err(malformed("the answer holds a call without a name"));
        }
        let mut message = self.accumulator.finish();
        message.raw = self.extras.raw(self.protocol, &message);
        Ok(message)
    }
}

fn emit(accumulator: &mut Accumulator, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
    accumulator.push(&delta);
    sink(&delta);
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "stop" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.into()),
    }
}
