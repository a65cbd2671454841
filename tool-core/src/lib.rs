//! Functions that a language model can call.
//!
//! Write [`#[tool]`](tool) over a function, hand it to a [`Chat`], and ask.
//!
//! | to | see |
//! | --- | --- |
//! | declare a tool | [`tool`], [`tools!`], [`Tool`], [`FunctionTool`] |
//! | know what a model is told of it | [`ToolDefinition`], [`Schema`] |
//! | talk | [`Chat`], [`Turn`], [`ToolOptions`] |
//! | follow what happens | [`Event`], [`Progress`], [`Usage`] |
//! | keep long results, give a model files | [`files`] |
//! | keep chats that survive their process | [`Agent`], [`StoredChat`], [`Worker`], [`store`] |
//! | write your own model | [`model`] |
//! | test | `testing`, with the feature of that name |

#[doc(hidden)]
pub mod __private;
mod agent;
mod attachment;
mod call;
mod chat;
mod error;
pub mod files;
mod input;
mod message;
pub mod model;
mod run;
mod schema;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;
mod transaction;
mod transcript;
mod usage;

pub use schemars;
pub use serde;
pub use tool_macros::tool;

pub use agent::{Agent, StoredChat, Worker};
pub use attachment::{Attachment, AttachmentSource};
pub use call::{Amount, Arguments, Progress, ToolCall};
pub use chat::{CallRef, Chat, Concurrency, Config, Pause, PendingApproval, ToolOptions, Turn};
pub use error::{ToolError, ToolErrorKind};
pub use input::{Answer, Fields, InputRequest};
pub use message::{
    AssistantMessage, Block, FinishReason, Message, Outcome, RawItems, Role, ToolResult,
    UserMessage,
};
pub use model::{Calls, Model, ModelError, ModelErrorKind, RequestOptions, ToolChoice};
pub use run::{CancelHandle, ChatError, ChatErrorKind, Event, Events, Limits, Stop};
pub use schema::{Schema, SchemaError, normalize};
pub use tool::{
    AfterCrash, Decision, FunctionTool, Injected, Named, Parameter, Redefined, Spill, Task,
    TaskPoll, Tool, ToolDefinition, ToolFailure, ToolFuture, ToolOutput, ToolReturn, ToolSet,
    ToolSetError, ToolSetErrorKind, ToolSource, ToolSourceFuture,
};
pub use transaction::ToolTransaction;
pub use transcript::Transcript;
pub use usage::Usage;

/// A [`ToolSet`] of these tools: `tools![Weather, IssueRefund { refunds }]`.
///
/// Two tools of the same name are a compile error where both are annotated types, and a panic
/// elsewhere; [`ToolSet::try_from_tools`] reports it as an error.
#[macro_export]
macro_rules! tools {
    ($($tools:tt)*) => {
        $crate::__private::tools_impl!($crate; $($tools)*)
    };
}
