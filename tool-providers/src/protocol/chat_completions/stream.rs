//! An answer in pieces.

use tool_core::model::DeltaSink;
use tool_core::{AssistantMessage, ModelError};

use super::super::AnswerStream;
use super::ChatCompletions;
use super::parse::{Mode, Reader};

/// An answer that arrives as the data of server-sent events.
///
/// Pieces of calls are told apart by index, by id, or by their order, whichever the host gives.
#[derive(Debug)]
pub(super) struct Stream<'p> {
    reader: Reader<'p>,
    done: bool,
}

impl<'p> Stream<'p> {
    pub(super) fn new(protocol: &'p ChatCompletions) -> Self {
        Stream {
            reader: Reader::new(protocol, Mode::Pieces),
            done: false,
        }
    }
}

impl AnswerStream for Stream<'_> {
    fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
        match data.trim_ascii() {
            b"" => Ok(()),
            b"[DONE]" => {
                self.done = true;
                self.reader.ended();
                Ok(())
            }
            _ if self.done => Ok(()),
            data => self.reader.read(data, sink),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>) -> Result<AssistantMessage, ModelError> {
        self.reader.finish()
    }
}
