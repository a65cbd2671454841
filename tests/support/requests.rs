//! Recorded requests as questions of the core, and what may differ when we render them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tool_core::model::Request;
use tool_core::{
    AssistantMessage, Attachment, AttachmentSource, Calls, FunctionTool, Message, ModelError,
    RequestOptions, Tool, ToolChoice, ToolError, ToolSet, Transcript, normalize,
};
use tool_providers::protocol::{Framing, Protocol};
use tool_providers::sse::Decoder;

use super::cassette::{protocol, recordings};

/// Levels one kind of difference in a body, ours or the recorded one.
pub type Level = fn(&mut Value);

/// A kind of difference, why it is right, and how it is levelled.
pub type Difference = (&'static str, &'static str, Level);

/// What a model was asked, as the core says it.
#[derive(Default)]
pub struct Question {
    pub model: String,
    pub instructions: Option<String>,
    pub transcript: Transcript,
    pub tools: Vec<Arc<dyn Tool>>,
    pub choice: ToolChoice,
    pub allowed: Option<Vec<String>>,
    pub calls: Calls,
    pub options: RequestOptions,
    pub stream: bool,
}

impl Question {
    pub fn render(&self, protocol: &dyn Protocol) -> Result<Value, ModelError> {
        let tools = ToolSet::from_tools(self.tools.iter().cloned());
        let request = Request::new(&self.transcript, &tools, &self.choice, &self.options)
            .with_instructions(self.instructions.as_deref())
            .with_allowed(self.allowed.as_deref())
            .with_calls(self.calls)
            .with_stream(self.stream);
        let text = protocol.render(&self.model, &request)?.concat();
        Ok(serde_json::from_slice(&text).unwrap())
    }

    /// Sets what a request says beside the members of which `known` speaks.
    pub fn extra(&mut self, recorded: &Value, known: &[&str]) {
        for (key, value) in recorded.as_object().unwrap() {
            if !known.contains(&key.as_str()) {
                self.options.extra.insert(key.clone(), value.clone());
            }
        }
    }

    pub fn result(&mut self, id: &Value, name: &str, text: &str, attachments: Vec<Attachment>) {
        let result =
            json!({ "role": "tool", "call_id": id, "name": name, "outcome": "ok", "text": text });
        let Message::Tool(mut result) = serde_json::from_value(result).unwrap() else {
            panic!("no result")
        };
        result.attachments = attachments;
        self.transcript.push(Message::Tool(result));
    }
}

/// A recorded request.
pub struct Recorded<'a> {
    pub protocol: &'a dyn Protocol,
    pub path: &'a str,
    pub body: &'a Value,
    /// The answers that were recorded before it, read by us.
    pub earlier: &'a [AssistantMessage],
}

impl Recorded<'_> {
    /// The answer at a place among those of the request: the recorded one, with all that we keep of it.
    /// `None`: it was not recorded, or another conversation was.
    pub fn answer(&self, position: usize, ids: &[&str]) -> Option<AssistantMessage> {
        let answer = self.earlier.get(position)?;
        let known: Vec<&str> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        (known == ids).then(|| answer.clone())
    }

    /// An answer as the request repeats it.
    pub fn read(&self, answer: Value) -> AssistantMessage {
        let answer = answer.to_string();
        self.protocol
            .parse(answer.as_bytes(), &mut |_| {})
            .unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

/// Rebuilds a request; an error says what it holds that no chat of ours does.
pub type Rebuild = fn(&Recorded<'_>) -> Result<Question, &'static str>;

/// Compares our request with every recorded one of a protocol, and what we keep of an answer with the
/// answer; `items` says where in it the items are that are sent back as they came.
pub fn compare(name: &str, items: Option<&str>, differences: &[Difference], rebuild: Rebuild) {
    let mut met = BTreeSet::new();
    let mut compared = 0;
    for (file, recording) in recordings(name) {
        let provider = recording["provider"].as_str().unwrap();
        let protocol = protocol(name, provider).unwrap();
        let mut earlier = Vec::new();
        for (number, exchange) in recording["exchanges"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let recorded = Recorded {
                protocol: &*protocol,
                path: exchange["request"]["path"].as_str().unwrap(),
                body: &exchange["request"]["body"],
                earlier: &earlier,
            };
            match rebuild(&recorded).map(|question| question.render(&*protocol)) {
                Err(what) => println!("{file}, request {number}: not one of ours: {what}"),
                Ok(Err(error)) => {
                    // We do not ask what is refused.
                    assert_eq!(exchange["response"]["status"], 400, "{file}: {error}");
                    println!("{file}, request {number}: refused here already: {error}");
                }
                Ok(Ok(ours)) => {
                    compared += 1;
                    let place = format!("{file}, request {number}");
                    same(&place, differences, ours, recorded.body.clone(), &mut met);
                }
            }
            let body = &exchange["response"]["body"];
            if let Some(answer) = answer(&*protocol, body) {
                kept(&file, &answer, items.and_then(|items| body.pointer(items)));
                earlier.push(answer);
            }
        }
    }
    println!("{compared} requests compared; differences met: {met:#?}");
}

fn same(
    place: &str,
    differences: &[Difference],
    mut ours: Value,
    mut theirs: Value,
    met: &mut BTreeSet<&'static str>,
) {
    for (kind, _, level) in differences {
        let before = (ours.clone(), theirs.clone());
        level(&mut ours);
        level(&mut theirs);
        let is_levelled = ours != before.0 || theirs != before.1;
        if before.0 != before.1 && is_levelled {
            met.insert(*kind);
        }
    }
    assert!(ours == theirs, "{place}:\nours   {ours}\ntheirs {theirs}");
}

/// What is sent back is what came, word for word.
fn kept(file: &str, answer: &AssistantMessage, items: Option<&Value>) {
    let Some((raw, items)) = answer.raw.as_ref().zip(items) else {
        return;
    };
    let raw: Value = serde_json::from_str(&raw.json).unwrap();
    let mut items = items.clone();
    if let Value::Array(items) = &mut items {
        // Gemini wants no thoughts back that are not signed.
        items.retain(|item| item["thought"] != true);
    }
    assert_eq!(raw, items, "{file}");
}

/// A recorded answer; `None`: it is an error.
fn answer(protocol: &dyn Protocol, body: &Value) -> Option<AssistantMessage> {
    let Value::String(stream) = body else {
        let answer = protocol.parse(body.to_string().as_bytes(), &mut |_| {});
        return answer.ok();
    };
    let mut reader = protocol.stream();
    match protocol.framing() {
        Framing::Lines => {
            for line in stream.lines() {
                reader.push(line.as_bytes(), &mut |_| {}).ok()?;
            }
        }
        _ => {
            let push = |event: tool_providers::sse::Event<'_>| reader.push(event.data, &mut |_| {});
            Decoder::new().push(stream.as_bytes(), push).ok()?;
        }
    }
    reader.finish().ok()
}

/// A tool that was declared so.
pub fn tool(
    name: &Value,
    description: &Value,
    schema: &Value,
    strict: Option<bool>,
    is_deferred: bool,
) -> Arc<dyn Tool> {
    let mut schema = schema.clone();
    not_in_schema(&mut schema);
    let run = |_: Value| std::future::ready(Ok::<_, ToolError>(""));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tool = FunctionTool::new(text(name), text(description), schema, run).unwrap();
    Arc::new(tool.define(|definition| {
        let definition = definition.with_deferral(is_deferred);
        match strict {
            Some(strict) => definition.with_strict(strict),
            None => definition,
        }
    }))
}

/// What a `data:` URL or another one holds.
pub fn image(url: &str) -> Attachment {
    let data = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"));
    match data {
        Some((kind, data)) => base64(kind, data),
        None => Attachment::from_url("image/*", url),
    }
}

pub fn base64(media_type: &str, data: &str) -> Attachment {
    Attachment {
        media_type: media_type.into(),
        name: None,
        source: AttachmentSource::Base64(data.into()),
    }
}

/// `strict` inside of a schema belongs beside it, where the recorded client did not mean it.
pub fn not_in_schema(schema: &mut Value) {
    if let Some(members) = schema.as_object_mut()
        && members.get("strict").is_some_and(Value::is_boolean)
    {
        members.remove("strict");
    }
}

/// Ours always says which members are required and that there are no others.
pub fn normal_schema(schema: &mut Value) {
    not_in_schema(schema);
    *schema = normalize(schema.take()).unwrap();
}

/// The elements of an array member.
pub fn each<'v>(value: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    let elements = value.get_mut(key).and_then(Value::as_array_mut);
    elements.into_iter().flatten()
}

pub fn remove(value: &mut Value, keys: &[&str]) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Removes a member that says what is so anyway.
pub fn default(value: &mut Value, key: &str, said: Value) {
    if value.get(key) == Some(&said) {
        remove(value, &[key]);
    }
}

/// Text in place of an array of one part of text.
pub fn one_text(value: &mut Value, kind: &str) {
    if let Some([part]) = value.as_array().map(Vec::as_slice)
        && (part["type"] == kind || kind.is_empty())
        && let Some(text) = part["text"].as_str()
    {
        *value = text.into();
    }
}
