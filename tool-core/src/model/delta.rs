//! The pieces of an answer.

use crate::{FinishReason, RawItems, Usage};

/// One piece of an answer, as a protocol reads it from the wire.
///
/// Calls are told apart by `slot`, a number that the protocol gives each call in the order in which
/// the calls begin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// More words for the user.
    Text(&'a str),
    /// More reasoning.
    Thinking(&'a str),
    /// A call begins.
    CallStart {
        /// Which call.
        slot: usize,
        /// The provider's id of it.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
    },
    /// More of a call's arguments, as JSON text.
    CallArguments {
        /// Which call.
        slot: usize,
        /// The next piece of the text.
        text: &'a str,
    },
    /// A call runs on a remote server, once it is approved.
    CallServer {
        /// Which call.
        slot: usize,
        /// The label of the server.
        server: &'a str,
    },
    /// What the provider wants echoed with a call.
    CallState {
        /// Which call.
        slot: usize,
        /// JSON text.
        json: &'a str,
    },
    /// What the answer has cost so far; the last one counts.
    Usage(Usage),
    /// The name of the model that answers.
    Model(&'a str),
    /// Why the model stopped.
    Finish(FinishReason),
    /// The whole answer in the provider's own form, to be replayed to it.
    Raw(RawItems),
}
