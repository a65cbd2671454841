//! What user, model and tools say to each other.

use serde::{Deserialize, Serialize};

use crate::{Attachment, ToolCall, Usage};

/// One message of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the user said.
    User(UserMessage),
    /// What the model answered.
    Assistant(AssistantMessage),
    /// What a tool gave for one call of the assistant message before it.
    Tool(ToolResult),
}

/// Who speaks in a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Message {
    /// Who speaks.
    pub fn role(&self) -> Role {
        match self {
            Message::User(_) => Role::User,
            Message::Assistant(_) => Role::Assistant,
            Message::Tool(_) => Role::Tool,
        }
    }
}

/// What the user said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The words.
    pub text: String,
    /// Images and files that go with them.
    #[serde(
        default,
        with = "crate::attachment::stored",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub attachments: Vec<Attachment>,
}

impl UserMessage {
    /// A message of words alone.
    pub fn new(text: impl Into<String>) -> Self {
        UserMessage {
            text: text.into(),
            attachments: Vec::new(),
        }
    }

    /// The same message with one more image or file.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }
}

impl<S: Into<String>> From<S> for UserMessage {
    fn from(text: S) -> Self {
        UserMessage::new(text)
    }
}

/// What the model answered: an ordered list of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Text, reasoning and calls, in the order in which the model gave them.
    pub blocks: Vec<Block>,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// What the answer cost.
    #[serde(default)]
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    #[serde(default)]
    pub model: String,
    /// The answer in the provider's own words, where the neutral view loses something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawItems>,
}

/// One part of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Words for the user.
    Text(String),
    /// The model's reasoning, where the provider shows it.
    Thinking(String),
    /// A call of a tool.
    ToolCall(ToolCall),
}

/// An answer in a provider's own form, replayed verbatim to that provider and to no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawItems {
    /// Who understands it: the name of a protocol and a provider.
    pub origin: String,
    /// JSON text.
    pub json: String,
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It had said everything.
    #[default]
    Stop,
    /// It wants tools to run.
    ToolCalls,
    /// It reached a limit of tokens.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// The provider interrupted a long answer; asked again, it goes on with it.
    Interrupted,
    /// Something else, in the provider's words.
    Other(String),
}

impl AssistantMessage {
    /// A message of words alone.
    pub fn from_text(text: impl Into<String>) -> Self {
        AssistantMessage {
            blocks: vec![Block::Text(text.into())],
            ..AssistantMessage::default()
        }
    }

    /// The words for the user, all blocks joined.
    pub fn text(&self) -> String {
        self.texts(|block| {
            if let Block::Text(text) = block {
                Some(text)
            } else {
                None
            }
        })
    }

    /// The model's reasoning, all blocks joined.
    pub fn thinking(&self) -> String {
        self.texts(|block| {
            if let Block::Thinking(text) = block {
                Some(text)
            } else {
                None
            }
        })
    }

    /// The calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the answer ended before the model was done, so that its calls cannot be trusted.
    pub fn is_cut_off(&self) -> bool {
        matches!(
            self.finish,
            FinishReason::Length | FinishReason::ContentFilter
        )
    }

    fn texts<'a>(&'a self, select: impl Fn(&'a Block) -> Option<&'a String>) -> String {
        let mut texts = self.blocks.iter().filter_map(select);
        let first = texts.next().cloned().unwrap_or_default();
        texts.fold(first, |joined, text| joined + text)
    }
}

/// What one call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The name that was called.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads. Never empty.
    pub text: String,
    /// Images and files for the model.
    #[serde(
        default,
        with = "crate::attachment::stored",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub attachments: Vec<Attachment>,
}

impl ToolResult {
    pub(crate) fn new(call: &ToolCall, outcome: Outcome, text: impl Into<String>) -> Self {
        ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            outcome,
            text: text.into(),
            attachments: Vec::new(),
        }
    }

    /// Whether a provider that has an error flag is told of an error.
    pub fn is_error(&self) -> bool {
        !matches!(self.outcome, Outcome::Ok | Outcome::Approved)
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The tool gave a result.
    Ok,
    /// The tool failed, or could not be run.
    Error,
    /// A person or a policy refused the call; it never ran.
    Denied,
    /// The run was cancelled while the call ran.
    Cancelled,
    /// The call ran longer than it may.
    TimedOut,
    /// The run ended before the call began.
    NotStarted,
    /// The call ran and was interrupted; whether it took effect is not known.
    Unknown,
    /// A person approved the call; the provider runs it on a remote server, and the result is part of
    /// the next answer.
    Approved,
}
