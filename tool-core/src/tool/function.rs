//! A tool of a closure.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::output::{ToolFailure, ToolOutput, ToolReturn};
use super::{Tool, ToolDefinition, ToolFuture};
use crate::{Schema, SchemaError, ToolCall, ToolError};

/// A tool made of a schema and a closure, for tools that are known only at run time.
///
/// The arguments are checked against the schema before the closure sees them. What means the same
/// in a form that models get wrong is repaired first: empty text and `null` are `{}`, an optional
/// property that is `null` is absent, `5.0` is the integer `5`, and where only an array, an object, a
/// number or a boolean is wanted, a string that holds one as JSON is that value.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::{FunctionTool, Tool, ToolError};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
/// let shout = FunctionTool::new("shout", "Says it louder.", schema, async |arguments: Value| {
///     let text = arguments["text"].as_str().unwrap_or_default();
///     Ok::<_, ToolError>(text.to_uppercase())
/// })?;
/// assert_eq!(shout.call(json!({ "text": "hey" })).await?.as_text(), "HEY");
/// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct FunctionTool<A, F> {
    definition: ToolDefinition,
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F> FunctionTool<A, F> {
    /// A tool of this name and description, whose arguments `A` have this schema. The closure returns a
    /// `Result` of what a tool can return and of any error.
    ///
    /// # Errors
    ///
    /// The schema cannot be one of arguments.
    pub fn new<R, T, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: F,
    ) -> Result<Self, SchemaError>
    where
        A: DeserializeOwned + Send,
        F: Fn(A) -> R + Send + Sync,
        R: Future<Output = Result<T, E>> + Send,
        T: ToolReturn + Send,
        E: ToolFailure + Send,
    {
        let definition = ToolDefinition::new(name.into(), description.into(), Schema::new(schema)?);
        Ok(FunctionTool {
            definition,
            function,
            arguments: PhantomData,
        })
    }

    /// As [`new`](FunctionTool::new), of a closure that is handed the call too: to report progress, to ask
    /// the user, to have its key.
    ///
    /// # Errors
    ///
    /// The schema cannot be one of arguments.
    pub fn with_call<R, T, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: F,
    ) -> Result<FunctionTool<A, WithCall<F>>, SchemaError>
    where
        A: DeserializeOwned + Send,
        F: Fn(A, ToolCall) -> R + Send + Sync,
        R: Future<Output = Result<T, E>> + Send,
        T: ToolReturn + Send,
        E: ToolFailure + Send,
    {
        let definition = ToolDefinition::new(name.into(), description.into(), Schema::new(schema)?);
        Ok(FunctionTool {
            definition,
            function: WithCall(function),
            arguments: PhantomData,
        })
    }

    /// The same tool with what `change` makes of its definition: deferral, approval, a deadline.
    #[must_use]
    pub fn define(self, change: impl FnOnce(ToolDefinition) -> ToolDefinition) -> Self {
        FunctionTool {
            definition: change(self.definition),
            ..self
        }
    }
}

/// A closure that is handed the call beside the arguments.
pub struct WithCall<F>(F);

impl<A: DeserializeOwned, F> FunctionTool<A, F> {
    fn read(&self, call: &ToolCall) -> Result<A, ToolError> {
        let arguments = Value::Object(self.definition.check(call)?);
        serde_json::from_value(arguments).map_err(|error| {
            ToolError::invalid_arguments(format!("Invalid tool arguments: {error}"))
        })
    }
}

fn reply<T: ToolReturn, E: ToolFailure>(value: Result<T, E>) -> Result<ToolOutput, ToolError> {
    value.map_err(ToolFailure::into_tool_error)?.output()
}

#[diagnostic::do_not_recommend]
impl<A, F, R, T, E> Tool for FunctionTool<A, WithCall<F>>
where
    A: DeserializeOwned + Send,
    F: Fn(A, ToolCall) -> R + Send + Sync,
    R: Future<Output = Result<T, E>> + Send,
    T: ToolReturn + Send,
    E: ToolFailure + Send,
{
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = self.read(call)?;
            reply((self.function.0)(arguments, call.clone()).await)
        })
    }
}

#[diagnostic::do_not_recommend]
impl<A, F, R, T, E> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + Send,
    F: Fn(A) -> R + Send + Sync,
    R: Future<Output = Result<T, E>> + Send,
    T: ToolReturn + Send,
    E: ToolFailure + Send,
{
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = self.read(call)?;
            reply((self.function)(arguments).await)
        })
    }
}
