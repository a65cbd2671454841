//! What comes next in a chat: words, or a question to the model.

use tool_core::model::Request;
use tool_core::{Message, ToolChoice, ToolSet};

use super::render::{Finished, no_tool, render};

/// What the embedded model does with a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Move<'a> {
    /// It says this.
    Say(String),
    /// It has to choose calls for this question.
    Choose {
        question: &'a str,
        at_least: usize,
        at_most: usize,
    },
}

/// The most calls of one answer.
const MOST: usize = 8;

/// The question is answered by one round of calls: what they gave is the answer.
pub(super) fn next_move<'a>(request: &Request<'a>) -> Move<'a> {
    let messages = request.transcript.messages();
    if let Some(Message::Tool(_)) = messages.last() {
        return Move::Say(render(&finished(messages)));
    }
    let question = messages.iter().rev().find_map(|message| match message {
        Message::User(user) => Some(user.text.as_str()),
        _ => None,
    });
    match question {
        Some(question) if *request.choice != ToolChoice::None && !offered(request).is_empty() => {
            Move::Choose {
                question,
                at_least: usize::from(request.choice.is_forced()),
                at_most: request.calls.limit().unwrap_or(MOST).clamp(1, MOST),
            }
        }
        _ => Move::Say(no_tool(&[])),
    }
}

/// The tools that may be called.
pub(super) fn offered(request: &Request<'_>) -> ToolSet {
    if request.allowed.is_none() {
        return request.tools.clone();
    }
    let tools = request.tools.iter();
    let allowed = tools.filter(|tool| request.allows(tool.name()));
    // The names are those of a set, which has each once.
    ToolSet::try_from_tools(allowed.cloned()).unwrap_or_default()
}

/// The calls since the last question, with what they came to.
fn finished(messages: &[Message]) -> Vec<Finished<'_>> {
    let asked = messages
        .iter()
        .rposition(|message| matches!(message, Message::User(_)));
    let mut calls = Vec::new();
    let mut finished = Vec::new();
    for message in &messages[asked.map_or(0, |asked| asked + 1)..] {
        match message {
            Message::Assistant(answer) => calls = answer.tool_calls().collect(),
            Message::Tool(result) => {
                let call = calls.iter().find(|call| call.id == result.call_id);
                finished.push(Finished {
                    name: &result.name,
                    arguments: call.map_or("", |call| call.arguments.as_str()),
                    outcome: result.outcome,
                    text: &result.text,
                });
            }
            _ => {}
        }
    }
    finished
}
