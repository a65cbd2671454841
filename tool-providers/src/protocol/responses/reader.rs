//! Bytes to deltas, for an answer that came whole and for every event of one that did not.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tool_core::model::{Accumulator, Delta, DeltaSink};
use tool_core::{AssistantMessage, Block, FinishReason, ModelError, ModelErrorKind, RawItems};

use super::super::error::{in_answer, malformed};
use super::super::{AnswerStream, json, unique_id};
use super::Responses;
use super::output::{Event, Item, Response};

/// Reads an answer that came whole.
pub(super) fn whole(
    protocol: &Responses,
    body: &[u8],
    sink: &mut DeltaSink<'_>,
) -> Result<AssistantMessage, ModelError> {
    let json = text(body);
    let response: Response<'_> = serde_json::from_str(&json).map_err(unexpected)?;
    let mut reader = Reader::new(protocol);
    if response.output.is_none() && response.error.is_none() {
        return Err(malformed("the answer holds no output"));
    }
    reader.ended(response, sink)?;
    Box::new(reader).finish()
}

/// Turns what is on the wire into deltas, and those into a message.
#[derive(Debug)]
pub(super) struct Reader<'p> {
    protocol: &'p Responses,
    accumulator: Accumulator,
    /// What is known of the items that are not over, by their index.
    open: Vec<(u64, Open)>,
    /// The items as they came, by their index.
    items: Vec<(u64, Box<str>)>,
    /// The calls, by their ids.
    ids: Vec<String>,
    /// How many of them are among the items, with the ids that they have here.
    replayable: usize,
    has_model: bool,
    /// Whether all of it came, and nothing was left out.
    completed: bool,
    done: bool,
}

/// An item that came in part.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// The call that it is.
    slot: Option<usize>,
    /// Whether pieces of it came: they are not said again when the item is over.
    said: bool,
    /// Whether a new paragraph began.
    breaks: bool,
}

impl<'p> Reader<'p> {
    pub(super) fn new(protocol: &'p Responses) -> Self {
        Reader {
            protocol,
            accumulator: Accumulator::default(),
            open: Vec::new(),
            items: Vec::new(),
            ids: Vec::new(),
            replayable: 0,
            has_model: false,
            completed: false,
            done: false,
        }
    }

    fn event(&mut self, event: Event<'_>, sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        let index = event.output_index.0;
        match &*event.kind.0 {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.open(index).said |= !event.delta.0.is_empty();
                self.emit(Delta::Text(&event.delta.0), sink);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let open = self.open(index);
                if !event.delta.0.is_empty() {
                    open.said = true;
                    if std::mem::take(&mut open.breaks) {
                        self.emit(Delta::Thinking("\n"), sink);
                    }
                    self.emit(Delta::Thinking(&event.delta.0), sink);
                }
            }
            "response.reasoning_summary_part.added" | "response.content_part.added" => {
                let open = self.open(index);
                open.breaks = open.said;
            }
            "response.function_call_arguments.delta" => {
                let open = self.open(index);
                if let Some(slot) = open.slot
                    && !event.delta.0.is_empty()
                {
                    open.said = true;
                    let text = &*event.delta.0;
                    self.emit(Delta::CallArguments { slot, text }, sink);
                }
            }
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    let item: Item<'_> = serde_json::from_str(item.get()).map_err(unexpected)?;
                    if &*item.kind.0 == "function_call" {
                        self.begin(index, &item, sink);
                    }
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item(index, item, sink)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.ended(event.response.unwrap_or_default(), sink)?;
            }
            "response.created" | "response.in_progress" => {
                if let Some(response) = &event.response {
                    self.model(&response.model.0, sink);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes an item that is over.
    fn item(
        &mut self,
        index: u64,
        raw: &RawValue,
        sink: &mut DeltaSink<'_>,
    ) -> Result<(), ModelError> {
        let item: Item<'_> = serde_json::from_str(raw.get()).map_err(unexpected)?;
        let open = *self.open(index);
        match &*item.kind.0 {
            "function_call" => {
                let slot = match open.slot {
                    Some(slot) => slot,
                    None => self.begin(index, &item, sink),
                };
                if !open.said && !item.arguments.0.is_empty() {
                    let text = &*item.arguments.0;
                    self.emit(Delta::CallArguments { slot, text }, sink);
                }
                let id = &self.ids[slot];
                self.replayable += usize::from(*id == item.call_id.0);
            }
            "mcp_approval_request" => {
                let slot = self.start(&item.id.0, &item.name.0, sink);
                self.replayable += usize::from(self.ids[slot] == item.id.0);
                let (text, server) = (&*item.arguments.0, &*item.server_label.0);
                self.emit(Delta::CallArguments { slot, text }, sink);
                self.emit(Delta::CallServer { slot, server }, sink);
            }
            "message" if !open.said => {
                self.emit(Delta::Text(&item.words().concat()), sink);
            }
            "reasoning" if !open.said => {
                self.emit(Delta::Thinking(&item.words().join("\n")), sink);
            }
            _ => {}
        }
        self.open.retain(|(known, _)| *known != index);
        self.items.push((index, raw.get().into()));
        Ok(())
    }

    /// The provider said that the answer is over. Items that it did not give one by one are here.
    fn ended(
        &mut self,
        response: Response<'_>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<(), ModelError> {
        if let Some(error) = response.error {
            return Err(in_answer(error.get()));
        }
        self.model(&response.model.0, sink);
        let output = response.output.unwrap_or_default();
        let given = self.items.len();
        if given < output.len() {
            for (index, item) in (0..).zip(output) {
                if !self.items[..given].iter().any(|(known, _)| *known == index) {
                    self.item(index, item, sink)?;
                }
            }
        }
        if let Some(counts) = response.usage {
            self.emit(Delta::Usage(counts.usage()), sink);
        }
        let finish = match (&*response.status.0, &response.incomplete_details) {
            ("incomplete", Some(details)) => details.finish(),
            ("incomplete", None) => FinishReason::Length,
            ("completed" | "", _) if !self.ids.is_empty() => FinishReason::ToolCalls,
            ("completed" | "", _) => FinishReason::Stop,
            ("in_progress" | "queued", _) => {
                return Err(malformed(
                    "the provider answers in the background, where nobody waits for it: do not set `background`",
                ));
            }
            (status, _) => {
                let text = format!("the provider gave up on the answer: `{status}`");
                return Err(ModelError::new(ModelErrorKind::Server, text));
            }
        };
        self.completed = &*response.status.0 != "incomplete";
        self.done = true;
        self.emit(Delta::Finish(finish), sink);
        Ok(())
    }

    fn begin(&mut self, index: u64, item: &Item<'_>, sink: &mut DeltaSink<'_>) -> usize {
        let id = match &*item.call_id.0 {
            "" => &*item.id.0,
            id => id,
        };
        let slot = self.start(id, &item.name.0, sink);
        self.open(index).slot = Some(slot);
        slot
    }

    fn start(&mut self, id: &str, name: &str, sink: &mut DeltaSink<'_>) -> usize {
        let slot = self.ids.len();
        let id = &*unique_id(id, &self.ids);
        self.emit(Delta::CallStart { slot, id, name }, sink);
        self.ids.push(id.to_owned());
        slot
    }

    fn open(&mut self, index: u64) -> &mut Open {
        let at = match self.open.iter().position(|(known, _)| *known == index) {
            Some(at) => at,
            None => {
                self.open.push((index, Open::default()));
                self.open.len() - 1
            }
        };
        &mut self.open[at].1
    }

    fn model(&mut self, model: &str, sink: &mut DeltaSink<'_>) {
        if !self.has_model && !model.is_empty() {
            self.has_model = true;
            self.emit(Delta::Model(model), sink);
        }
    }

    fn emit(&mut self, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        if !matches!(delta, Delta::Text("") | Delta::Thinking("")) {
            self.accumulator.push(&delta);
            sink(&delta);
        }
    }

    /// What is replayed: all items in their order, unless some came in part or hold what would be refused.
    fn raw(&mut self, message: &AssistantMessage) -> Option<RawItems> {
        let is_whole = |block: &Block| match block {
            Block::ToolCall(call) => match call.arguments.as_str().trim() {
                "" => true,
                text => json::is_json(text),
            },
            _ => true,
        };
        let is_replayed = self.completed
            && !self.items.is_empty()
            && self.replayable == self.ids.len()
            && message.blocks.iter().all(is_whole);
        if !is_replayed {
            return None;
        }
        self.items.sort_by_key(|(index, _)| *index);
        let items: Vec<&str> = self.items.iter().map(|(_, item)| &**item).collect();
        Some(RawItems {
            origin: self.protocol.origin.clone(),
            json: format!("[{}]", items.join(",")),
        })
    }
}

impl AnswerStream for Reader<'_> {
    fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if self.done || data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let json = text(data);
        let event: Event<'_> = serde_json::from_str(&json).map_err(unexpected)?;
        match event.error {
            Some(error) => Err(in_answer(error.get())),
            None if &*event.kind.0 == "error" => Err(in_answer(&json)),
            None => self.event(event, sink),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>) -> Result<AssistantMessage, ModelError> {
        if !self.done {
            return Err(malformed("the stream ended before the answer was whole"));
        }
        let mut message = std::mem::take(&mut self.accumulator).finish();
        if message.tool_calls().any(|call| call.name.is_empty()) {
            return Err(malformed("the answer holds a call without a name"));
        }
        message.raw = self.raw(&message);
        Ok(message)
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::from)
}

fn unexpected(error: serde_json::Error) -> ModelError {
    malformed(format!("the answer is not what was expected: {error}")).with_source(error)
}
