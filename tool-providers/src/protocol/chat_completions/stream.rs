//! An answer in pieces.

use tool_core::model::DeltaSink;
use tool_core::{AssistantMessage, ModelError};

use super::ChatCompletions;
use super::parse::{Mode, Reader};

/// An answer that arrives as the data of server-sent events.
///
/// Pieces of calls are told apart by index, by id, or by their order, whichever the host gives.
#[derive(Debug)]
pub struct AnswerStream<'p> {
    reader: Reader<'p>,
    done: bool,
}

impl<'p> AnswerStream<'p> {
    pub(super) fn new(protocol: &'p ChatCompletions) -> Self {
        AnswerStream {
            reader: Reader::new(protocol, Mode::Pieces),
            done: false,
        }
    }

    /// Takes the data of one event; its pieces go to `sink`.
    ///
    /// # Errors
    ///
    /// The event is an error, or not one of this protocol.
    pub fn push(&mut self, data: &[u8], sink: &mut DeltaSink<'_>) -> Result<(), ModelError> {
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

    /// Whether the host said that nothing more comes.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The message.
    ///
    /// # Errors
    ///
    /// The stream ended before the answer was whole: there is no half message.
    pub fn finish(self) -> Result<AssistantMessage, ModelError> {
        self.reader.finish()
    }
}
