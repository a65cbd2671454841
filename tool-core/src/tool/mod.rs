//! What a model can call.

mod agree;
mod definition;
mod function;
mod infer;
mod output;
mod param;
mod rank;
mod redefined;
mod search;
mod set;
mod source;
mod spec;
mod task;

use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use definition::{AfterCrash, Spill, ToolDefinition};
pub use function::FunctionTool;
pub use output::{ToolFailure, ToolOutput, ToolReturn};
pub use param::{Injected, Parameter};
pub use redefined::Redefined;
pub use set::{ToolSet, ToolSetError, ToolSetErrorKind};
pub(crate) use source::Sources;
pub use source::{ToolSource, ToolSourceFuture};
pub use task::{Task, TaskPoll};
pub(crate) use task::{stored as stored_task, stored_option as stored_task_option};

/// What generated code uses; see [`crate::__private`].
pub(crate) mod generated {
    pub use super::output::{AnyOutcome, AnyReturned, NeverPauses, Outcome, Pauses, Returned};
    pub use super::param::{AnyParam, Param, Reader};
    pub use super::set::{NameProbe, NoName, is_among};
    pub use super::spec::{Attributes, LazyDefinition, ProviderOption, SchemaSource, Spec};
}

use crate::{ToolCall, ToolError};

/// What running a tool gives.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// What reading a decision gives.
pub type ApprovalFuture<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// Something a model can call.
///
/// Usually `#[tool]` implements it. By hand, [`definition`](Tool::definition) says what the model is
/// told and [`invoke`](Tool::invoke) runs a call; [`FunctionTool`] makes a tool of a closure.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "write `#[tool]` over a function, and use its name in CamelCase; or over an `impl` block with an `execute` method"
)]
pub trait Tool: Send + Sync {
    /// What the model is told: name, description, schema, and how the runtime treats the tool.
    fn definition(&self) -> &ToolDefinition;

    /// The name the model calls. It can differ from instance to instance.
    fn name(&self) -> &str {
        self.definition().name()
    }

    /// Runs a call. The arguments have not been checked; generated code checks them first, a tool
    /// written by hand calls [`ToolDefinition::check`].
    ///
    /// # Errors
    ///
    /// See [`ToolError`]: the model reads all but a fatal one.
    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a>;

    /// Whether this call waits for a decision before it runs.
    fn requires_approval(&self, call: &ToolCall) -> bool {
        let _ = call;
        self.definition().requires_approval()
    }

    /// Reads the decision on a call from the application, where that keeps it. `None`: the decision
    /// is what was recorded with the chat. It may be consulted repeatedly while a call waits.
    fn approval<'a>(&'a self, call: &'a ToolCall) -> Option<ApprovalFuture<'a>> {
        let _ = call;
        None
    }

    /// Carries on a call that paused on `task`.
    ///
    /// # Errors
    ///
    /// As [`invoke`](Tool::invoke).
    fn resume<'a>(&'a self, task: Task, call: &'a ToolCall) -> ToolFuture<'a> {
        let _ = task;
        Box::pin(async move {
            Err(ToolError::new(format!(
                "the tool `{}` cannot resume a task",
                call.name
            )))
        })
    }

    /// This instance, declared differently.
    fn redefine(self, change: impl FnOnce(ToolDefinition) -> ToolDefinition) -> Redefined
    where
        Self: Sized + 'static,
    {
        Redefined::new(Arc::new(self), change)
    }

    /// This instance, kept out of the model's context until it is searched for.
    fn deferred(self) -> Redefined
    where
        Self: Sized + 'static,
    {
        self.redefine(|definition| definition.with_deferral(true))
    }

    /// This instance, offered to the model from the start, whatever its type declares.
    fn offered(self) -> Redefined
    where
        Self: Sized + 'static,
    {
        self.redefine(|definition| definition.with_deferral(false))
    }

    /// This instance under another name.
    fn renamed(self, name: impl Into<String>) -> Redefined
    where
        Self: Sized + 'static,
    {
        let name = name.into();
        self.redefine(|definition| definition.with_name(name))
    }

    /// Calls the tool outside a chat, with the arguments as a JSON object (or JSON text of one).
    /// They are checked as a model's are.
    ///
    /// # Errors
    ///
    /// Wrong arguments, or what the tool reports.
    fn call<'a>(&'a self, arguments: Value) -> ToolFuture<'a> {
        Box::pin(async move {
            let name = self.name();
            let call = match arguments {
                Value::String(text) => ToolCall::new("detached", name, text),
                arguments => ToolCall::new("detached", name, arguments),
            };
            self.invoke(&call).await
        })
    }
}

macro_rules! forward {
    ($($pointer:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Tool + ?Sized> Tool for $pointer {
            fn definition(&self) -> &ToolDefinition {
                (**self).definition()
            }

            fn name(&self) -> &str {
                (**self).name()
            }

            fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
                (**self).invoke(call)
            }

            fn requires_approval(&self, call: &ToolCall) -> bool {
                (**self).requires_approval(call)
            }

            fn approval<'a>(&'a self, call: &'a ToolCall) -> Option<ApprovalFuture<'a>> {
                (**self).approval(call)
            }

            fn resume<'a>(&'a self, task: Task, call: &'a ToolCall) -> ToolFuture<'a> {
                (**self).resume(task, call)
            }
        }
    )*};
}

forward!(Arc<T> Box<T>);

/// A tool whose name is known at compile time, as every annotated one's is.
#[diagnostic::on_unimplemented(
    message = "the name of `{Self}` is not known at compile time",
    note = "annotated tools have one; for others use `ToolChoice::Tool(\"name\".into())`"
)]
pub trait Named {
    /// The name.
    const NAME: &'static str;
}

/// What was decided about a call that requires approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// The call may run.
    Approved,
    /// The call must not run; the model reads the reason.
    Denied {
        /// Why, if the reviewer said.
        reason: Option<String>,
    },
    /// Nobody has decided yet.
    Pending,
}

impl Decision {
    /// The call must not run, for this reason.
    pub fn denied(reason: impl Into<String>) -> Self {
        Decision::Denied {
            reason: Some(reason.into()),
        }
    }
}
