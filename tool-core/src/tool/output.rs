//! What a tool gives back.

use std::convert::Infallible;
use std::fmt::Display;

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

    /// Any value, as JSON. A value that is one JSON string is text; an object with a member `error`
    /// is a failure.
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
            Some(b'{') if json.contains("\"error\"") => {
                let failed = serde_json::from_str::<Value>(&json)
                    .is_ok_and(|value| value.get("error").is_some_and(|error| !error.is_null()));
                ToolOutput {
                    error: failed,
                    ..ToolOutput::text(json)
                }
            }
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
            pub fn classify(self) -> Result<ToolOutput, ToolError> {
                let $value = self.0;
                Ok($output)
            }
        }
    )*};
}

returned! {
    ToolOutput: output => output;
    String: text => ToolOutput::text(text);
    &str: text => ToolOutput::text(text);
    (): _nothing => ToolOutput::text("");
    Task: task => ToolOutput::task(task);
    Attachment: attachment => ToolOutput::text("").with_attachment(attachment);
    Vec<Attachment>: attachments => attachments.into_iter().fold(ToolOutput::text(""), ToolOutput::with_attachment);
    (String, Attachment): pair => ToolOutput::text(pair.0).with_attachment(pair.1);
    (String, Vec<Attachment>): pair => pair.1.into_iter().fold(ToolOutput::text(pair.0), ToolOutput::with_attachment);
}

impl<T: ToolReturn> Returned<TaskPoll<T>> {
    /// The task, or what it came to.
    pub fn classify(self) -> Result<ToolOutput, ToolError> {
        match self.0 {
            TaskPoll::Ready(value) => value.output(),
            TaskPoll::Pending(task) => Ok(ToolOutput::task(task)),
        }
    }
}

/// All other values are written as JSON.
pub trait AnyReturned {
    /// The value.
    type Value;
    /// The output that the model reads.
    fn classify(self) -> Result<ToolOutput, ToolError>
    where
        Self::Value: ToolReturn;
}

impl<T> AnyReturned for Returned<T> {
    type Value = T;

    fn classify(self) -> Result<ToolOutput, ToolError>
    where
        T: ToolReturn,
    {
        self.0.output()
    }
}

/// What a tool failed with, before it is known what it is.
pub struct Failure<E>(pub E);

impl Failure<ToolError> {
    /// The error itself.
    pub fn into_tool_error(self) -> ToolError {
        self.0
    }
}

/// An error that the model can read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "implement `std::error::Error` for this type",
    note = "the model reads what `Display` writes"
)]
pub trait Shown {
    /// What the model reads.
    fn shown(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<E: Display> Shown for E {
    fn shown(&self) -> String {
        // The alternate form of `anyhow` and `eyre` errors names their causes.
        format!("{self:#}")
    }
}

/// Every other error is shown.
pub trait AnyFailure {
    /// The error.
    type Error;
    /// An error that the model reads.
    fn into_tool_error(self) -> ToolError
    where
        Self::Error: Shown;
}

impl<E> AnyFailure for Failure<E> {
    type Error = E;

    fn into_tool_error(self) -> ToolError
    where
        E: Shown,
    {
        ToolError::new(self.0.shown())
    }
}
