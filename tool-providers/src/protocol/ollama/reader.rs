//! Bytes to deltas, for an answer that came whole and for every line of one that did not.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tool_core::model::{Accumulator, Delta, DeltaSink};
use tool_core::{AssistantMessage, FinishReason, ModelError, Usage};

use super::super::error::{in_answer, malformed};
use super::super::values::{Count, Text};
use super::super::{AnswerStream, unique_id};
use super::messages;

/// Reads an answer that came whole.
pub(super) fn whole(body: &[u8], sink: &mut DeltaSink<'_>) -> Result<AssistantMessage, ModelError> {
    let mut reader = Reader::default();
    reader.push(body, sink)?;
    Box::new(reader).finish()
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow, default)]
    done_reason: Text<'a>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// Turns what is on the wire into deltas, and those into a message.
#[derive(Debug, Default)]
pub(super) struct Reader {
    accumulator: Accumulator,
    ids: Vec<String>,
    has_model: bool,
    done: bool,
}

impl Reader {
    fn call(&mut self, call: Call<'_>, sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        let function = call.function.unwrap_or_default();
        let name = &*function.name.0;
        if name.is_empty() {
            return Err(malformed("the answer holds a call without a name"));
        }
        let slot = self.ids.len();
        let id = unique_id(&call.id.0, &self.ids);
        self.emit(
            Delta::CallStart {
                slot,
                id: &id,
                name,
            },
            sink,
        );
        self.ids.push(id);
        if let Some(arguments) = function.arguments {
            let text = arguments.get();
            self.emit(Delta::CallArguments { slot, text }, sink);
        }
        Ok(())
    }

    fn emit(&mut self, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        if !matches!(delta, Delta::Text("") | Delta::Thinking("")) {
            self.accumulator.push(&delta);
            sink(&delta);
        }
    }
}

impl AnswerStream for Reader {
    fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if self.done || data.is_empty() {
            return Ok(());
        }
        let json =
            std::str::from_utf8(data).map_or_else(|_| String::from_utf8_lossy(data), Cow::from);
        let line: Line<'_> = serde_json::from_str(&json).map_err(|error| {
            malformed(format!("the answer is not what was expected: {error}")).with_source(error)
        })?;
        if let Some(error) = line.error {
            return Err(in_answer(error.get()));
        }
        if !self.has_model && !line.model.0.is_empty() {
            self.has_model = true;
            self.emit(Delta::Model(&line.model.0), sink);
        }
        if let Some(said) = line.message {
            self.emit(Delta::Thinking(&said.thinking.0), sink);
            self.emit(Delta::Text(&said.content.0), sink);
            for call in said.tool_calls.into_iter().flatten() {
                self.call(call, sink)?;
            }
        }
        if line.done == Some(true) {
            self.done = true;
            let usage = Usage::new(line.prompt_eval_count.0, line.eval_count.0);
            self.emit(Delta::Usage(usage), sink);
            let finish = match &*line.done_reason.0 {
                "length" => FinishReason::Length,
                "stop" | "" if !self.ids.is_empty() => FinishReason::ToolCalls,
                "stop" | "" => FinishReason::Stop,
                other => FinishReason::Other(other.into()),
            };
            self.emit(Delta::Finish(finish), sink);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>) -> Result<AssistantMessage, ModelError> {
        if !self.done {
            return Err(malformed("the stream ended before the answer was whole"));
        }
        let mut message = self.accumulator.finish();
        message.raw = messages::raw(&message);
        Ok(message)
    }
}
