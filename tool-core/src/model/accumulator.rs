//! Pieces to message.

use crate::model::Delta;
use crate::{AssistantMessage, Block, FinishReason, RawItems, ToolCall, Usage};

/// Assembles the [`Delta`]s of an answer, streamed or not, to one [`AssistantMessage`].
///
/// Every piece is appended once, so the work is linear in the length of the answer.
#[derive(Debug, Default)]
pub struct Accumulator {
    parts: Vec<Part>,
    /// Where in `parts` the call of a slot is.
    slots: Vec<Option<usize>>,
    finish: FinishReason,
    usage: Usage,
    model: String,
    raw: Option<RawItems>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(String),
    Call {
        id: String,
        name: String,
        arguments: String,
        server: Option<String>,
        state: Option<String>,
    },
}

impl Accumulator {
    /// Takes one piece. A piece of a call that has not begun is ignored.
    pub fn push(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Text("") | Delta::Thinking("") => {}
            Delta::Text(text) => match self.parts.last_mut() {
                Some(Part::Text(last)) => last.push_str(text),
                _ => self.parts.push(Part::Text((*text).into())),
            },
            Delta::Thinking(text) => match self.parts.last_mut() {
                Some(Part::Thinking(last)) => last.push_str(text),
                _ => self.parts.push(Part::Thinking((*text).into())),
            },
            Delta::CallStart { slot, id, name } => self.start(*slot, id, name),
            Delta::CallArguments { slot, text } => {
                if let Some(Part::Call { arguments, .. }) = self.call(*slot) {
                    arguments.push_str(text);
                }
            }
            Delta::CallServer {
                slot,
                server: label,
            } => {
                if let Some(Part::Call { server, .. }) = self.call(*slot) {
                    *server = Some((*label).into());
                }
            }
            Delta::CallState { slot, json } => {
                if let Some(Part::Call { state, .. }) = self.call(*slot) {
                    *state = Some((*json).into());
                }
            }
            Delta::Usage(usage) => self.usage = *usage,
            Delta::Model(model) => self.model = (*model).into(),
            Delta::Finish(finish) => self.finish = finish.clone(),
            Delta::Raw(raw) => self.raw = Some(raw.clone()),
        }
    }

    /// The message.
    pub fn finish(self) -> AssistantMessage {
        let blocks = self.parts.into_iter().map(|part| match part {
            Part::Text(text) => Block::Text(text),
            Part::Thinking(text) => Block::Thinking(text),
            Part::Call {
                id,
                name,
                arguments,
                server,
                state,
            } => {
                let mut call = ToolCall::new(id, name, arguments);
                call.server = server;
                call.provider_state = state;
                Block::ToolCall(call)
            }
        });
        AssistantMessage {
            blocks: blocks.collect(),
            finish: self.finish,
            usage: self.usage,
            model: self.model,
            raw: self.raw,
        }
    }

    fn start(&mut self, slot: usize, id: &str, name: &str) {
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = Some(self.parts.len());
        self.parts.push(Part::Call {
            id: id.into(),
            name: name.into(),
            arguments: String::new(),
            server: None,
            state: None,
        });
    }

    fn call(&mut self, slot: usize) -> Option<&mut Part> {
        let part = *self.slots.get(slot)?;
        self.parts.get_mut(part?)
    }
}
