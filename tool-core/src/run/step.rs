//! What a chat does next, decided from what is there.

use super::{CallState, Limits, PendingCall, Round, Stop};
use crate::Message;

/// The next move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask the model.
    Generate,
    /// See to the calls of the last answer: they are unknown, invalid, or ready.
    RunTools,
    /// Wait for a person or a task.
    Pause,
    /// The model has answered, or nothing was asked.
    Complete,
    /// A limit is reached.
    Stop(Stop),
}

/// Decides. Calls that wait do not hold up the others: they are reported as a pause only when nothing
/// else is left to run. `can_resume`: whether tasks may be asked for.
pub(crate) fn next(messages: &[Message], round: &Round, limits: &Limits, can_resume: bool) -> Next {
    if !round.is_empty() {
        let idle = |call: &PendingCall| match call.state {
            CallState::Paused(_) => !can_resume,
            _ => call.is_done() || call.waits(),
        };
        let pauses = round.calls.iter().all(idle) && !round.is_done();
        return if pauses { Next::Pause } else { Next::RunTools };
    }
    match messages.last() {
        None => Next::Complete,
        Some(Message::Assistant(answer))
            if answer.tool_calls().next().is_none() && !Limits::goes_on(messages) =>
        {
            Next::Complete
        }
        Some(_) => limits.reached(messages).map_or(Next::Generate, Next::Stop),
    }
}
