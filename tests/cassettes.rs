//! P1, P2, P4: recorded traffic of all protocols. Answers are compared with what an independent reader
//! made of them, with the stream cut at every byte.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use support::cassette::{all_recordings, protocol};
use tool_core::{AssistantMessage, FinishReason, ModelError, Usage};
use tool_providers::protocol::{Framing, Protocol, parse_error};
use tool_providers::sse::Decoder;

#[test]
fn every_recorded_answer_reads_as_an_independent_reader_read_it() {
    let mut read = 0;
    for (file, recording) in all_recordings() {
        let name = recording["protocol"].as_str().unwrap();
        let Some(protocol) = protocol(name, recording["provider"].as_str().unwrap()) else {
            panic!("{file}: the protocol `{name}` is not known");
        };
        let judge = Judge {
            file: &file,
            name,
            protocol: &*protocol,
        };
        for exchange in recording["exchanges"].as_array().unwrap() {
            read += 1;
            judge.exchange(&exchange["response"], &exchange["expect"]);
        }
    }
    println!("{read} recorded answers");
}

/// Compares the answers of a recording.
struct Judge<'a> {
    file: &'a str,
    name: &'a str,
    protocol: &'a dyn Protocol,
}

impl Judge<'_> {
    fn exchange(&self, response: &Value, expect: &Value) {
        if let Some(status) = expect["error_status"].as_u64() {
            return self.refusal(status as u16, &response["body"]);
        }
        match &response["body"] {
            Value::String(stream) => self.streamed(stream, expect),
            body => {
                let body = body.to_string();
                let mut said = 0;
                let answer = self.protocol.parse(body.as_bytes(), &mut |_| said += 1);
                assert!(said > 0, "{}", self.file);
                self.compare(answer, expect);
            }
        }
    }

    fn refusal(&self, status: u16, body: &Value) {
        let file = self.file;
        let text = match body {
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        let error = parse_error(status, text.as_bytes());
        match body["error"]["message"].as_str() {
            Some(message) => assert!(error.message().starts_with(message), "{file}"),
            None => assert!(!error.message().is_empty(), "{file}"),
        }
        assert_eq!(error.status(), Some(status), "{file}");
    }

    /// The stream in one piece, byte by byte, and in two pieces for every place where it can be cut.
    fn streamed(&self, stream: &str, expect: &Value) {
        let bytes = stream.as_bytes();
        self.compare(self.read([bytes]), expect);
        self.compare(self.read(bytes.chunks(1)), expect);

        // Every place, but for streams so long that it would take minutes.
        let step = 1 + bytes.len() / 20_000 * 8;
        for cut in (0..=bytes.len()).step_by(step) {
            let (start, end) = bytes.split_at(cut);
            self.compare(self.read([start, end]), expect);
        }

        // Cut off anywhere before its end is announced, there is no message.
        let ends = [
            "\"finish_reason\":\"",
            "\"finishReason\": \"",
            "event: message_stop",
            "event: response.completed",
            "event: response.incomplete",
            "\"done\":true",
        ];
        let end = ends.iter().filter_map(|end| stream.find(end)).min();
        let end = end.unwrap_or(stream.len() * 9 / 10);
        for cut in (0..end).step_by(1 + end / 50) {
            assert!(
                self.read([&bytes[..cut]]).is_err(),
                "{}, cut at {cut}",
                self.file
            );
        }
    }

    fn read<'b>(
        &self,
        pieces: impl IntoIterator<Item = &'b [u8]>,
    ) -> Result<AssistantMessage, ModelError> {
        let mut stream = self.protocol.stream();
        let mut decoder = Decoder::new();
        let mut line = Vec::new();
        for piece in pieces {
            match self.protocol.framing() {
                Framing::Lines => {
                    for byte in piece {
                        match byte {
                            b'\n' => stream.push(&std::mem::take(&mut line), &mut |_| {})?,
                            byte => line.push(*byte),
                        }
                    }
                }
                _ => decoder.push(piece, |event| stream.push(event.data, &mut |_| {}))?,
            }
        }
        stream.push(&line, &mut |_| {})?;
        stream.finish()
    }

    fn compare(&self, answer: Result<AssistantMessage, ModelError>, expect: &Value) {
        let file = self.file;
        let error = &expect["error"];
        let message = error["message"]
            .as_str()
            .or(error["error"]["message"].as_str());
        if let Some(message) = message.or(error.as_str()) {
            assert_eq!(answer.unwrap_err().message(), message, "{file}");
            return;
        }
        assert!(error.is_null(), "{file}: {error}");
        let answer = answer.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(answer.text(), expect["text"].as_str().unwrap(), "{file}");
        assert_eq!(
            answer.thinking(),
            expect["thinking"].as_str().unwrap(),
            "{file}"
        );
        self.calls(&answer, expect);
        let finish = expect["finish"].as_str().unwrap();
        assert_eq!(answer.finish, self.finish(finish, &answer), "{file}");
        assert_eq!(answer.usage, usage(&expect["usage"]), "{file}");
        self.kept(&answer, expect);
    }

    fn calls(&self, answer: &AssistantMessage, expect: &Value) {
        let file = self.file;
        let none = Vec::new();
        let ours = expect["tool_calls"].as_array().unwrap();
        let remote = expect["approvals"].as_array().unwrap_or(&none);
        assert_eq!(
            answer.tool_calls().count(),
            ours.len() + remote.len(),
            "{file}"
        );
        for (call, expected) in answer.tool_calls().zip(ours.iter().chain(remote)) {
            match expected["id"].as_str().unwrap_or_default() {
                "" => assert!(!call.id.is_empty(), "{file}"),
                id => assert_eq!(call.id, id, "{file}"),
            }
            assert_eq!(call.name, expected["name"].as_str().unwrap(), "{file}");
            assert_eq!(
                call.server.as_deref(),
                expected["server_label"].as_str(),
                "{file}"
            );
            match expected["arguments"]["__invalid_json__"].as_str() {
                Some(text) => assert_eq!(call.arguments.as_str(), text, "{file}"),
                None => {
                    let arguments: Value = call.arguments.parse().unwrap();
                    assert_eq!(arguments, expected["arguments"], "{file}");
                }
            }
        }
    }

    fn finish(&self, finish: &str, answer: &AssistantMessage) -> FinishReason {
        let calls = answer.tool_calls().count() > 0;
        match (self.name, finish) {
            (_, "completed" | "STOP" | "stop") if calls && self.name != "chat_completions" => {
                FinishReason::ToolCalls
            }
            (_, "stop" | "end_turn" | "STOP" | "completed") => FinishReason::Stop,
            (_, "tool_calls" | "tool_use") => FinishReason::ToolCalls,
            (_, "length" | "max_tokens" | "MAX_TOKENS") => FinishReason::Length,
            ("responses", "max_output_tokens" | "incomplete") => FinishReason::Length,
            (_, "content_filter" | "refusal") => FinishReason::ContentFilter,
            (_, other) => FinishReason::Other(other.into()),
        }
    }

    /// What is kept to be replayed holds all that the provider wants back.
    fn kept(&self, answer: &AssistantMessage, expect: &Value) {
        let file = self.file;
        let raw = answer.raw.as_ref().map_or("[]", |raw| &raw.json);
        let items: Value = serde_json::from_str(raw).unwrap();
        let items: Vec<&Value> = items.as_array().into_iter().flatten().collect();
        for expected in expect["server_items"].as_array().into_iter().flatten() {
            let (kind, detail) = match expected.as_str().unwrap().split_once(':') {
                Some((kind, detail)) => (kind, detail),
                None => (expected.as_str().unwrap(), ""),
            };
            let found = items.iter().any(|item| {
                item["type"] == kind
                    && (detail.is_empty() || item["name"] == detail || item["execution"] == detail)
            });
            assert!(found, "{file}: {expected} in {raw}");
        }
        if let Some(signatures) = expect["signatures"].as_u64() {
            let signed = |item: &&&Value| {
                item["signature"].is_string() || item["thoughtSignature"].is_string()
            };
            let kept = items.iter().filter(signed).count() as u64;
            // Words alone, though signed, need not be kept.
            assert!(
                kept == signatures || answer.tool_calls().count() == 0,
                "{file}: {raw}"
            );
        }
    }
}

/// The counts of any protocol.
fn usage(told: &Value) -> Usage {
    let count = |paths: &[&str]| -> u64 {
        let counts = paths.iter().filter_map(|path| told.pointer(path)?.as_u64());
        counts.sum()
    };
    let input = count(&[
        "/prompt_tokens",
        "/input_tokens",
        "/cache_read_input_tokens",
        "/cache_creation_input_tokens",
        "/promptTokenCount",
        "/toolUsePromptTokenCount",
        "/prompt_eval_count",
    ]);
    let output = count(&[
        "/completion_tokens",
        "/output_tokens",
        "/candidatesTokenCount",
        "/thoughtsTokenCount",
        "/eval_count",
    ]);
    let cached = count(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/cache_read_input_tokens",
        "/cachedContentTokenCount",
    ]);
    let reasoning = count(&[
        "/completion_tokens_details/reasoning_tokens",
        "/output_tokens_details/reasoning_tokens",
        "/output_tokens_details/thinking_tokens",
        "/thoughtsTokenCount",
    ]);
    Usage::new(input, output)
        .with_cached_input_tokens(cached)
        .with_reasoning_tokens(reasoning)
}
