//! A transcript of messages from elsewhere.

use std::collections::HashSet;

use super::{CallState, Round};
use crate::{AssistantMessage, Block, Message, Outcome, ToolResult, Transcript};

/// Makes the messages a transcript in which each call has one result, right behind its answer and in
/// call order. The calls of the last answer may still lack theirs: they are the round.
pub(crate) fn restore(
    messages: impl IntoIterator<Item = Message>,
    chat: &str,
) -> (Transcript, Round) {
    let mut transcript = Transcript::new();
    let mut round = Round::default();
    for message in messages {
        match message {
            Message::Tool(result) => {
                let open = round
                    .calls
                    .iter_mut()
                    .find(|call| call.call.id == result.call_id && !call.is_done());
                if let Some(call) = open {
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
                        identify(&mut answer, chat, transcript.messages().len());
                        round = Round::of(&answer);
                        transcript.push(Message::Assistant(answer));
                    }
                    message => transcript.push(message),
                }
            }
        }
    }
    close(&mut transcript, &mut round);
    (transcript, round)
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
        call.set_place(chat, message, position);
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
