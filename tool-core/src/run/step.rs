//! What a chat does next, decided from what is there.

use super::Round;
use crate::{AssistantMessage, Message};

/// The next move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask the model.
    Generate,
    /// See to the calls of the last answer: they are unknown, invalid, or ready.
    RunTools,
    /// Wait for a person or a task.
    Pause,
    /// The model has answered, or nothing was asked.
    Complete,
    /// Too many rounds since the user last spoke.
    TooManyRounds,
    /// The model was cut off again and again.
    CutOff,
}

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) max_rounds: Option<usize>,
}

/// How often in a row an answer may be cut off in the middle of its calls.
const CUT_OFF_IN_A_ROW: usize = 2;

/// Decides. Calls that wait for a decision do not hold up the others: they are reported as a pause
/// only when nothing else is left to run.
pub(crate) fn next(messages: &[Message], round: &Round, policy: Policy, can_resume: bool) -> Next {
    if !round.is_empty() {
        let idle = |call: &super::PendingCall| {
            let paused = matches!(call.state, super::CallState::Paused(_)) && !can_resume;
            call.is_done() || call.awaits_approval() || paused
        };
        return if round.calls.iter().all(idle) && !round.is_done() {
            Next::Pause
        } else {
            Next::RunTools
        };
    }
    match messages.last() {
        None => Next::Complete,
        Some(Message::Assistant(answer)) if answer.tool_calls().next().is_none() => Next::Complete,
        Some(_) => {
            let answers = || answers_since_user(messages);
            if answers().take_while(|answer| answer.is_cut_off()).count() > CUT_OFF_IN_A_ROW {
                return Next::CutOff;
            }
            match policy.max_rounds {
                Some(limit) if answers().count() >= limit => Next::TooManyRounds,
                _ => Next::Generate,
            }
        }
    }
}

fn answers_since_user(messages: &[Message]) -> impl Iterator<Item = &AssistantMessage> {
    let recent = messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, Message::User(_)));
    recent.filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    })
}
