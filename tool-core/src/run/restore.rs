//! A transcript of messages from elsewhere.

use std::collections::HashSet;

use super::{CallState, PendingCall, Round};
use crate::{AssistantMessage, Block, Message, Outcome, ToolResult, Transcript};

/// Makes the messages a transcript in which each call has one result, right behind its answer and in
/// call order. The calls of the last answer may still lack theirs: they are the round.
pub(crate) fn restore(
    messages: impl IntoIterator<Item = Message>,
    chat: &str,
) -> (Transcript, Round) {
    let mut transcript = Transcript::new();
    let mut round = Round::default();
    // The ids as they were, which results may still go by.
    let mut ids: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::Tool(mut result) => {
                let is_open = |index: usize| !round.calls[index].is_done();
                let known = |index: &usize| round.calls[*index].call.id == result.call_id;
                let was = |index: &usize| ids.get(*index) == Some(&result.call_id);
                let calls = || (0..round.calls.len()).filter(|index| is_open(*index));
                if let Some(index) = calls().find(known).or_else(|| calls().find(was)) {
                    let call = &mut round.calls[index];
                    result.call_id.clone_from(&call.call.id);
                    call.state = CallState::Done(result);
                }
            }
            message => {
                round.end(|call| {
                    let text = "The conversation went on before this call started.";
                    ToolResult::new(&call.call, Outcome::NotStarted, text)
                });
                close(&mut transcript, &mut round);
                match message {
                    Message::Assistant(mut answer) => {
                        ids = answer.tool_calls().map(|call| call.id.clone()).collect();
                        identify(&mut answer, chat, transcript.messages().len());
                        round = Round::of(&answer);
                        transcript.push(Message::Assistant(answer));
                    }
                    message => transcript.push(message),
                }
            }
        }
    }
    if let Some(Message::Assistant(answer)) = transcript.messages().last()
        && answer.is_cut_off()
    {
        round.end(cut_off);
    }
    close(&mut transcript, &mut round);
    (transcript, round)
}

/// The result of a call in an answer that was cut off: its arguments cannot be trusted.
pub(super) fn cut_off(call: &PendingCall) -> ToolResult {
    let text = "The answer was cut off before it was complete, so that this call did not run. \
                Try again with shorter arguments or fewer calls.";
    ToolResult::new(&call.call, Outcome::NotStarted, text)
}

fn close(transcript: &mut Transcript, round: &mut Round) {
    for result in round.take_results().into_iter().flatten() {
        transcript.push(Message::Tool(result));
    }
}

/// Gives each call of an answer its key, and an id that no other call of the answer has: people
/// decide on calls by their ids.
pub(super) fn identify(answer: &mut AssistantMessage, chat: &str, message: usize) {
    let mut ids = HashSet::new();
    let calls = answer.blocks.iter_mut().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    });
    let mut renamed = false;
    for (position, call) in calls.enumerate() {
        // A call that was in a chat already keeps its key there: it is the very same call.
        if !call.has_place() {
            call.set_place(chat, message, position);
        }
        let mut id = call.id.clone();
        let mut copy = 1;
        while id.is_empty() || !ids.insert(id.clone()) {
            copy += 1;
            id = format!("{}_{copy}", call.id);
        }
        renamed |= call.id != id;
        call.id = id;
    }
    // The provider's own form names the calls otherwise than their results will.
    if renamed {
        answer.raw = None;
    }
}
