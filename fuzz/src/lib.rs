//! What a fuzz target does with its bytes: reads them as an answer that came whole, and as one that came in
//! pieces, and sends back what came of it.

use serde::de::IgnoredAny;
use tool_core::model::Request;
use tool_core::{AssistantMessage, Message, RequestOptions, ToolChoice, ToolSet, Transcript};
use tool_providers::Api;
use tool_providers::protocol::{Framing, Protocol, parse_error, parse_error_event};
use tool_providers::sse::Decoder;

/// The first byte says how the others are cut into pieces.
pub fn read(api: &Api, data: &[u8]) {
    let Some((first, data)) = data.split_first() else {
        return;
    };
    let protocol = api.protocol("host");
    if let Ok(answer) = protocol.parse(data, &mut |_| {}) {
        replay(&*protocol, answer);
    }
    let size = usize::from(*first).max(1);
    let answer = match protocol.framing() {
        Framing::Lines => lines(&*protocol, data),
        _ => events(&*protocol, data.chunks(size)),
    };
    if let Some(answer) = answer {
        replay(&*protocol, answer);
    }
    let _ = parse_error(400 + u16::from(*first), data);
    let _ = parse_error_event(data);
}

fn events<'a>(
    protocol: &dyn Protocol,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Option<AssistantMessage> {
    let mut decoder = Decoder::new();
    let mut stream = protocol.stream();
    for piece in pieces {
        let read = decoder.push(piece, |event| stream.push(event.data, &mut |_| {}));
        read.ok()?;
    }
    stream.finish().ok()
}

fn lines(protocol: &dyn Protocol, data: &[u8]) -> Option<AssistantMessage> {
    let mut stream = protocol.stream();
    for line in data.split(|byte| *byte == b'\n') {
        stream.push(line, &mut |_| {}).ok()?;
    }
    stream.finish().ok()
}

/// What was read can be sent back: the body is JSON whatever the provider wrote.
fn replay(protocol: &dyn Protocol, answer: AssistantMessage) {
    let mut transcript = Transcript::new();
    transcript.push(Message::User("go".into()));
    transcript.push(Message::Assistant(answer));
    let (tools, choice, options) = (ToolSet::new(), ToolChoice::Auto, RequestOptions::new());
    let request = Request::new(&transcript, &tools, &choice, &options);
    if let Ok(pieces) = protocol.render("model", &request) {
        let body = pieces.concat();
        // What is sent back word for word may hold half a surrogate pair, which is JSON and no Rust string.
        let json: Result<IgnoredAny, _> = serde_json::from_slice(&body);
        assert!(json.is_ok(), "{json:?}: {}", String::from_utf8_lossy(&body));
    }
}
