//! What a tool gives back.

use std::any::Any;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt::Display;
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::Value;

use super::task::{Task, TaskPoll};
use crate::{Attachment, ToolError};

/// What the model reads of a result that is empty.
const NOTHING: &str = "null";

/// What a tool gave: text for the model, images and files, or a task that is still running.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    text: String,
    attachments: Vec<Attachment>,
    error: bool,
    task: Option<Task>,
}

impl ToolOutput {
    /// Text, as it is.
    pub fn text(text: impl Into<String>) -> Self {
        ToolOutput {
            text: text.into(),
            attachments: Vec::new(),
            error: false,
            task: None,
        }
    }

    /// Any value, as JSON. A value that is one JSON string is text. An object whose member `error` is
    /// `true`, a text or an object is a failure.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON: a map with keys that are no strings, for example.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let json = serde_json::to_string(value).map_err(|error| {
            ToolError::new(format!("the result cannot be written as JSON: {error}"))
                .with_source(error)
        })?;
        Ok(match json.as_bytes().first() {
            Some(b'"') => ToolOutput::text(serde_json::from_str::<String>(&json).unwrap_or(json)),
            Some(b'{') if json.contains("\"error\"") => ToolOutput {
                error: serde_json::from_str(&json).is_ok_and(|value| says_error(&value)),
                ..ToolOutput::text(json)
            },
            _ => ToolOutput::text(json),
        })
    }

    /// A task that goes on after the tool returned.
    pub fn task(task: Task) -> Self {
        ToolOutput {
            task: Some(task),
            ..ToolOutput::text("")
        }
    }

    /// The same output with one more image or file.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// What the model reads. Never empty.
    pub fn as_text(&self) -> &str {
        match (self.text.is_empty(), self.attachments.is_empty()) {
            (false, _) => &self.text,
            (true, true) => NOTHING,
            (true, false) => "(see the attachment)",
        }
    }

    /// Images and files.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// Whether the tool said in a value that it failed.
    pub fn is_error(&self) -> bool {
        self.error
    }

    /// The task, where the tool is still at work.
    pub fn as_task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    pub(crate) fn into_parts(mut self) -> (String, Vec<Attachment>) {
        if self.text.is_empty() {
            self.text = self.as_text().to_owned();
        }
        (self.text, self.attachments)
    }
}

fn says_error(value: &Value) -> bool {
    match value.get("error") {
        Some(Value::Bool(failed)) => *failed,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(_)) => true,
        _ => false,
    }
}

/// A type that a tool can return: anything that `serde` can write as JSON.
///
/// Beside these, a tool returns text, `()`, [`Attachment`]s, text with attachments, a
/// [`ToolOutput`], a [`Task`], and a `Result` of all of them with any error that can be shown.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "derive `serde::Serialize` for this type",
    note = "a tool returns text, a value that implements `serde::Serialize`, `()`, an `Attachment`, a `ToolOutput`, a `Task`, or a `Result` of these"
)]
pub trait ToolReturn {
    /// The output that the model reads.
    #[doc(hidden)]
    fn output(self) -> Result<ToolOutput, ToolError>;
}

macro_rules! outputs {
    ($($type:ty: $value:ident => $output:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl ToolReturn for $type {
            fn output(self) -> Result<ToolOutput, ToolError> {
                let $value = self;
                Ok($output)
            }
        }
    )*};
}

outputs! {
    ToolOutput: output => output;
    Task: task => ToolOutput::task(task);
    Attachment: attachment => ToolOutput::text("").with_attachment(attachment);
}

/// A value, and images and files that go with it.
pub struct Attached<T>(T, Vec<Attachment>);

#[diagnostic::do_not_recommend]
impl<T: ToolReturn> ToolReturn for Attached<T> {
    fn output(self) -> Result<ToolOutput, ToolError> {
        Ok(self
            .1
            .into_iter()
            .fold(self.0.output()?, ToolOutput::with_attachment))
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolReturn> ToolReturn for TaskPoll<T> {
    fn output(self) -> Result<ToolOutput, ToolError> {
        match self {
            TaskPoll::Ready(value) => value.output(),
            TaskPoll::Pending(task) => Ok(ToolOutput::task(task)),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ToolReturn for T {
    fn output(self) -> Result<ToolOutput, ToolError> {
        ToolOutput::json(&self)
    }
}

/// What a tool's function returned, before it is known whether that is a `Result`.
pub struct Outcome<T>(pub T);

impl<T, E> Outcome<Result<T, E>> {
    /// A `Result` is one.
    pub fn split(self) -> Result<T, E> {
        self.0
    }
}

/// All that is no `Result` cannot fail. The inherent method wins where it exists.
pub trait AnyOutcome {
    /// The value.
    type Value;
    /// No failure.
    fn split(self) -> Result<Self::Value, Infallible>;
}

impl<T> AnyOutcome for Outcome<T> {
    type Value = T;

    fn split(self) -> Result<T, Infallible> {
        Ok(self.0)
    }
}

/// A value that a tool returned, before it is known what it is.
pub struct Returned<T>(pub T);

macro_rules! returned {
    ($($type:ty: $value:ident => $output:expr;)*) => {$(
        impl Returned<$type> {
            /// The output that the model reads.
            pub fn classify(self) -> ToolOutput {
                let $value = self.0;
                $output
            }
        }
    )*};
}

returned! {
    // These three are told by `ToolReturn` too, which writes them as JSON and reads them back.
    String: text => ToolOutput::text(text);
    &str: text => ToolOutput::text(text);
    (): _nothing => ToolOutput::text("");
    Option<Attachment>: attachment => attachment.into_iter().fold(ToolOutput::text(""), ToolOutput::with_attachment);
    Vec<Attachment>: attachments => attachments.into_iter().fold(ToolOutput::text(""), ToolOutput::with_attachment);
}

impl<T> Returned<(T, Attachment)> {
    /// The value with its attachment.
    pub fn classify(self) -> Attached<T> {
        Attached(self.0.0, vec![self.0.1])
    }
}

impl<T> Returned<(T, Vec<Attachment>)> {
    /// The value with its attachments.
    pub fn classify(self) -> Attached<T> {
        Attached(self.0.0, self.0.1)
    }
}

/// All other values stay as they are, for [`ToolReturn`].
pub trait AnyReturned {
    /// The value.
    type Value;
    /// The value itself.
    fn classify(self) -> Self::Value;
}

impl<T> AnyReturned for Returned<T> {
    type Value = T;

    fn classify(self) -> T {
        self.0
    }
}

/// Whether a function's result may be a [`Task`]: inherent constants where it is, else that of
/// [`NeverPauses`].
pub struct Pauses<T>(PhantomData<T>);

impl Pauses<Task> {
    /// It is one.
    pub const IT: bool = true;
}

impl<T> Pauses<TaskPoll<T>> {
    /// It may be one.
    pub const IT: bool = true;
}

impl<E> Pauses<Result<Task, E>> {
    /// It is one.
    pub const IT: bool = true;
}

impl<T, E> Pauses<Result<TaskPoll<T>, E>> {
    /// It may be one.
    pub const IT: bool = true;
}

/// The fallback of [`Pauses`].
pub trait NeverPauses {
    /// It is none.
    const IT: bool = false;
}

impl<T> NeverPauses for Pauses<T> {}

/// A type that a tool can fail with: every error, and whatever else can be displayed.
///
/// A [`ToolError`] stays what it is, also in a `Box<dyn Error + Send + Sync>`. Any other type that it is
/// turned into, as by `?` in a function that returns `anyhow::Result`, is an ordinary failure: a
/// [`fatal`](ToolError::fatal) one is returned as a `ToolError`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "implement `std::error::Error` for this type",
    note = "the model reads what `Display` writes"
)]
pub trait ToolFailure {
    /// The error that the model reads.
    #[doc(hidden)]
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Display + 'static> ToolFailure for E {
    fn into_tool_error(self) -> ToolError {
        let mut error: Box<dyn Any> = Box::new(self);
        error = match error.downcast::<ToolError>() {
            Ok(ours) => return *ours,
            Err(other) => other,
        };
        error = match error.downcast::<Box<dyn StdError + Send + Sync>>() {
            Ok(boxed) => match boxed.downcast::<ToolError>() {
                Ok(ours) => return *ours,
                Err(other) => return ToolError::new(format!("{other:#}")).with_source(other),
            },
            Err(other) => other,
        };
        match error.downcast::<E>() {
            // The alternate form of `anyhow` and `eyre` errors names their causes.
            Ok(error) => ToolError::new(format!("{error:#}")),
            Err(_) => ToolError::new("The tool failed."),
        }
    }
}
