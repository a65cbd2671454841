//! When a run of the loop stops by itself.

use crate::{AssistantMessage, FinishReason, Message, Outcome, ToolResult};

/// When a run of the loop stops by itself. Everything is counted since the user last spoke.
///
/// The transcript is valid when a limit is reached, and
/// [`complete`](crate::Chat::complete) goes on from there once the limit is raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    rounds: Option<usize>,
    pub(super) tool_calls: Option<usize>,
    tokens: Option<u64>,
    consecutive_failures: Option<usize>,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model wanted tools in every round that it was given.
    Rounds,
    /// As many calls as allowed were made; those beyond did not run.
    ToolCalls,
    /// The answers cost as many tokens as allowed.
    Tokens,
    /// One tool failed so many times in a row.
    ConsecutiveFailures,
    /// The model was cut off in the middle of its calls again and again.
    CutOff,
}

/// How often in a row a provider may interrupt an answer, and be asked to go on.
const INTERRUPTED_IN_A_ROW: usize = 8;

/// How often in a row an answer may be cut off in the middle of its calls.
const CUT_OFF_IN_A_ROW: usize = 2;

impl Limits {
    /// No limits.
    pub fn new() -> Self {
        Limits::default()
    }

    /// Answers of the model.
    #[must_use]
    pub fn rounds(self, rounds: usize) -> Self {
        Limits {
            rounds: Some(rounds),
            ..self
        }
    }

    /// Calls of tools.
    #[must_use]
    pub fn tool_calls(self, tool_calls: usize) -> Self {
        Limits {
            tool_calls: Some(tool_calls),
            ..self
        }
    }

    /// Tokens of requests and answers together, as the provider counts them. It is looked at before
    /// each request, so that the last answer may exceed it.
    #[must_use]
    pub fn tokens(self, tokens: u64) -> Self {
        Limits {
            tokens: Some(tokens),
            ..self
        }
    }

    /// Failures of one tool in a row.
    #[must_use]
    pub fn consecutive_failures(self, failures: usize) -> Self {
        Limits {
            consecutive_failures: Some(failures),
            ..self
        }
    }

    /// Whether the last answer was interrupted by its provider, and not yet too often in a row.
    pub(crate) fn goes_on(messages: &[Message]) -> bool {
        let interrupted = |answer: &&AssistantMessage| answer.finish == FinishReason::Interrupted;
        let in_a_row = answers(messages).take_while(interrupted).count();
        (1..=INTERRUPTED_IN_A_ROW).contains(&in_a_row)
    }

    /// The limit that is reached, before the next request.
    pub(crate) fn reached(&self, messages: &[Message]) -> Option<Stop> {
        if answers(messages)
            .take_while(|answer| answer.is_cut_off())
            .count()
            > CUT_OFF_IN_A_ROW
        {
            return Some(Stop::CutOff);
        }
        let over = |limit: Option<usize>, count: usize| limit.is_some_and(|limit| count >= limit);
        if over(self.rounds, answers(messages).count()) {
            return Some(Stop::Rounds);
        }
        if over(self.tool_calls, results(messages).count()) {
            return Some(Stop::ToolCalls);
        }
        let tokens = || {
            answers(messages)
                .map(|answer| answer.usage.total_tokens())
                .sum::<u64>()
        };
        if self.tokens.is_some_and(|limit| tokens() >= limit) {
            return Some(Stop::Tokens);
        }
        let failing = |limit: usize| {
            results(messages).any(|result| failures(messages, &result.name) >= limit.max(1))
        };
        if self.consecutive_failures.is_some_and(failing) {
            return Some(Stop::ConsecutiveFailures);
        }
        None
    }
}

/// How many calls were made already.
pub(super) fn calls_made(messages: &[Message]) -> usize {
    results(messages).count()
}

/// How often this tool failed since it last did not.
fn failures(messages: &[Message], tool: &str) -> usize {
    let of_tool = results(messages).filter(|result| result.name == tool);
    of_tool
        .take_while(|result| matches!(result.outcome, Outcome::Error | Outcome::TimedOut))
        .count()
}

/// What followed the user's last message, newest first.
fn recent(messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, Message::User(_)))
}

fn answers(messages: &[Message]) -> impl Iterator<Item = &AssistantMessage> {
    recent(messages).filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    })
}

fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    recent(messages).filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    })
}
