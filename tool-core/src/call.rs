//! A call of a tool: what the model asked for, and the handle a running tool holds.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolError;
use crate::input::{Answer, Fields, InputRequest, read_answer};
use crate::transaction::{Lent, ToolTransaction};

/// The arguments of a call, as the JSON text that the model wrote.
///
/// The text is kept as it came, also where it is not valid JSON, so that a failed call can be read
/// back exactly. Cloning shares the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Arguments(Arc<str>);

impl Arguments {
    /// The text as the model sent it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text. Empty text and white space count as `{}`.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or not of the shape of `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.json())
    }

    /// The text, with `{}` in place of nothing.
    pub(crate) fn json(&self) -> &str {
        match self.0.trim() {
            "" => "{}",
            _ => &self.0,
        }
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments("{}".into())
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Arguments(text.into())
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Arguments(text.into())
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Arguments(value.to_string().into())
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Arguments {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Arguments(String::deserialize(deserializer)?.into()))
    }
}

/// A call of a tool.
///
/// In a transcript it is data: who is called, with what. The runtime hands the same value to a tool
/// that declares a parameter `tool_call: &ToolCall`; it then also carries the connection to the
/// chat, through which [`progress`](ToolCall::progress) is reported.
#[derive(Clone, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call. Unique within one answer of the model, not beyond.
    pub id: String,
    /// The name the model called.
    pub name: String,
    /// What the model sent.
    pub arguments: Arguments,
    /// The remote server on which the provider runs the call once it is approved; `None`: this
    /// application runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What a provider wants echoed with the call, as JSON text, opaque to everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<String>,
    #[serde(default)]
    key: String,
    #[serde(skip)]
    context: Option<Arc<dyn CallContext>>,
}

impl ToolCall {
    /// A call that belongs to no chat.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Arguments>,
    ) -> Self {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            server: None,
            provider_state: None,
            key: String::new(),
            context: None,
        }
    }

    /// The same call, for the provider to run on this remote server.
    #[must_use]
    pub fn on_server(self, server: impl Into<String>) -> Self {
        ToolCall {
            server: Some(server.into()),
            ..self
        }
    }

    /// A key that is the same each time this very call runs, and different for every other call.
    ///
    /// Hand it to a payment provider or a unique index, so that a call that runs twice acts once.
    /// It names the chat and the position of the call in it, because providers reuse call ids.
    /// Outside a chat it is the call's id.
    pub fn idempotency_key(&self) -> &str {
        if self.key.is_empty() {
            &self.id
        } else {
            &self.key
        }
    }

    /// How often this very call began to run, this time included: 1 the first time. It runs again where its
    /// run was interrupted, and where a question that it asked was answered.
    pub fn attempt(&self) -> u32 {
        self.context.as_ref().map_or(1, |context| context.attempt())
    }

    /// The transaction in which the call acts, and in which its result is recorded: both happen, or neither,
    /// so that what it does happens exactly once, even if the process dies. It is committed once the tool
    /// has returned a result, and undone if that is an error, or the run is dropped.
    ///
    /// `T` is the transaction of the store in which the chat is: `SqliteTransaction`, `PostgresTransaction`,
    /// or that of a store of your own. Each time the same one is given. Let go of it before you return, and
    /// be quick: others may wait for it.
    ///
    /// ```
    /// # #[cfg(all(feature = "sqlite", feature = "testing"))] {
    /// use tool_core::store::SqliteTransaction;
    /// use tool_core::{tool, ToolCall};
    ///
    /// /// Moves money between accounts.
    /// #[tool]
    /// async fn transfer(from: String, to: String, cents: u32, tool_call: &ToolCall) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    ///     let transaction = tool_call.transaction::<SqliteTransaction>().await?;
    ///     let sql = "update accounts set cents = cents + ?2 where name = ?1";
    ///     transaction.execute(sql, (&from, -i64::from(cents)))?;
    ///     transaction.execute(sql, (&to, i64::from(cents)))?;
    ///     Ok(format!("moved {cents} cents"))
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The chat is in no store, or in one of another kind; or the store's.
    pub async fn transaction<T: Send + 'static>(&self) -> Result<ToolTransaction<T>, ToolError> {
        let context = self.context.as_ref();
        match context.and_then(|context| context.transaction()) {
            Some(lending) => ToolTransaction::of(lending.await?),
            None => Err(ToolError::new(
                "the call runs outside a stored chat, so that there is no transaction for it",
            )),
        }
    }

    /// Whether the call runs outside a chat, so that progress goes nowhere.
    pub fn is_detached(&self) -> bool {
        self.context.is_none()
    }

    /// Reports what the tool is doing while it runs: `value` of `total` units are done.
    ///
    /// It reaches [`Chat::after_tool_progress`](crate::Chat::after_tool_progress) and the event
    /// stream, never the model. Outside a chat it goes nowhere. It never blocks.
    pub fn progress(&self, message: impl Into<String>, value: impl Amount, total: impl Amount) {
        self.report(message.into(), Some(value.amount()), Some(total.amount()));
    }

    /// Reports what the tool is doing, where the work cannot be counted.
    pub fn progress_message(&self, message: impl Into<String>) {
        self.report(message.into(), None, None);
    }

    /// Reports what the tool is doing, where it is not known how much there is: `value` units are done.
    pub fn progress_so_far(&self, message: impl Into<String>, value: impl Amount) {
        self.report(message.into(), Some(value.amount()), None);
    }

    /// Asks the user something and returns the answer.
    ///
    /// The call pauses until [`Chat::answer`](crate::Chat::answer) or
    /// [`Chat::decline`](crate::Chat::decline) settles the question. Then it runs again from the
    /// start and this `ask` returns: what comes before it happens again, so act after asking.
    /// Several questions, one after the other, keep their answers.
    ///
    /// `fields` are JSON Schema properties, `{"size": {"type": "string", "required": true}}`.
    ///
    /// # Errors
    ///
    /// [`InputRequired`](crate::ToolErrorKind::InputRequired) outside a chat; or the fields are no
    /// schema, or a default does not fit its field.
    pub async fn ask(
        &self,
        question: impl Into<String>,
        fields: impl Into<Fields>,
    ) -> Result<Answer, ToolError> {
        self.put(question.into(), fields.into(), None).await
    }

    /// Asks the user something, with a field for each field of `T`.
    ///
    /// # Errors
    ///
    /// As [`ask`](ToolCall::ask); or the answer cannot be read as `T`.
    pub async fn ask_for<T>(&self, question: impl Into<String>) -> Result<Answer<T>, ToolError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let schema = schemars::schema_for!(T).to_value();
        let answer = self
            .put(question.into(), Fields::of_schema(schema), None)
            .await?;
        read_answer(answer).map_err(|error| {
            ToolError::new(format!("the answer cannot be read: {error}")).with_source(error)
        })
    }

    /// Asks the user to visit a page. The answer has no fields.
    ///
    /// # Errors
    ///
    /// As [`ask`](ToolCall::ask).
    pub async fn ask_to_visit(
        &self,
        question: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<Answer, ToolError> {
        let nothing = Value::Object(serde_json::Map::new());
        self.put(question.into(), Fields::from(nothing), Some(url.into()))
            .await
    }

    async fn put(
        &self,
        question: String,
        fields: Fields,
        url: Option<String>,
    ) -> Result<Answer, ToolError> {
        let request = fields.request(self, question, url).map_err(|error| {
            ToolError::new(format!("the fields of the question are no form: {error}"))
        })?;
        let Some(context) = &self.context else {
            return Err(ToolError::input_required(&request.question));
        };
        match context.ask(request) {
            Some(answer) => Ok(answer),
            None => {
                // The run is dropped here, unless it has a thread of its own.
                context.ended().await;
                let text = "the question is put; the call runs again once it is answered";
                Err(ToolError::new(text))
            }
        }
    }

    fn report(&self, message: String, value: Option<f64>, total: Option<f64>) {
        if let Some(context) = &self.context {
            context.progress(Progress {
                call_id: self.id.clone(),
                tool: self.name.clone(),
                message,
                value,
                total,
            });
        }
    }

    /// The call of another tool that is meant by this one.
    pub(crate) fn redirected(&self, name: String, arguments: Arguments) -> Self {
        ToolCall {
            name,
            arguments,
            ..self.clone()
        }
    }

    pub(crate) fn with_arguments(&self, arguments: Arguments) -> Self {
        ToolCall {
            arguments,
            ..self.clone()
        }
    }

    pub(crate) fn set_place(&mut self, chat: &str, message: usize, position: usize) {
        self.key = format!("{chat}-{message}-{position}");
    }

    /// Whether the call was in a chat.
    pub(crate) fn has_place(&self) -> bool {
        !self.key.is_empty()
    }

    /// The chat that the call belongs to; empty outside one.
    pub(crate) fn chat(&self) -> &str {
        self.place().0
    }

    /// The chat, the message in it and the position in that, which together are the key.
    pub(crate) fn place(&self) -> (&str, &str, &str) {
        let mut parts = self.key.rsplitn(3, '-');
        let (position, message, chat) = (parts.next(), parts.next(), parts.next());
        match (chat, message, position) {
            (Some(chat), Some(message), Some(position)) => (chat, message, position),
            _ => ("", "", ""),
        }
    }

    pub(crate) fn attached(&self, context: Arc<dyn CallContext>) -> Self {
        ToolCall {
            context: Some(context),
            ..self.clone()
        }
    }
}

impl PartialEq for ToolCall {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
            && self.name == other.name
            && self.arguments == other.arguments
            && self.server == other.server
            && self.provider_state == other.provider_state
            && self.key == other.key
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// What a running tool reports of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// The id of the call that reports.
    pub call_id: String,
    /// The name of its tool.
    pub tool: String,
    /// What it is doing.
    pub message: String,
    /// How many units are done, where the tool counts.
    pub value: Option<f64>,
    /// How many units there are, where the tool counts.
    pub total: Option<f64>,
}

/// A transaction that is about to be lent.
pub(crate) type Lending<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn Lent>, ToolError>> + Send + 'a>>;

/// The chat in which a call runs.
pub(crate) trait CallContext: Send + Sync {
    /// Takes a report.
    fn progress(&self, progress: Progress);

    /// The answer to the next question of this run, if the user has given it. If not, the question
    /// is put, and the run will be dropped.
    fn ask(&self, request: InputRequest) -> Option<Answer>;

    /// How often the call began to run, this time included.
    fn attempt(&self) -> u32;

    /// The transaction in which the call acts, if its chat is in a store.
    fn transaction(&self) -> Option<Lending<'_>>;

    /// Waits until the run is over.
    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A number that [`ToolCall::progress`] accepts: any primitive integer or float.
pub trait Amount {
    /// The number as a float.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($number:ty)*) => {$(
        impl Amount for $number {
            fn amount(self) -> f64 {
                self as f64
            }
        }
    )*};
}

amounts!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);
