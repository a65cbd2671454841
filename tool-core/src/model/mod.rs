//! The port to a language model.
//!
//! A [`Model`] is handed a [`Request`] and gives one [`AssistantMessage`]; whether it streams or not
//! makes no difference to that message, since both ways feed one [`Accumulator`].

mod accumulator;
mod delta;
mod error;
mod remote;
mod request;

use std::pin::Pin;
use std::sync::Arc;

pub use accumulator::Accumulator;
pub use delta::Delta;
pub use error::{ModelError, ModelErrorKind};
pub use remote::{RemoteApproval, RemoteMcp};
pub use request::{Calls, HostedTool, Request, RequestOptions, ToolChoice};

use crate::AssistantMessage;

/// What [`Model::generate`] returns.
pub type ModelFuture<'a> =
    Pin<Box<dyn Future<Output = Result<AssistantMessage, ModelError>> + Send + 'a>>;

/// Who receives the pieces of an answer while it arrives.
pub type DeltaSink<'a> = dyn FnMut(&Delta<'_>) + Send + 'a;

/// A language model, or anything that answers as one.
pub trait Model: Send + Sync {
    /// The model's name, as its provider knows it.
    fn name(&self) -> &str;

    /// Who serves it.
    fn provider(&self) -> &str;

    /// Whether the provider searches deferred tools itself. It is then handed all tools of a chat, with
    /// the deferred ones marked; else only what [`ToolSet::visible`](crate::ToolSet::visible) gives.
    fn searches_tools(&self) -> bool {
        false
    }

    /// Answers the transcript.
    ///
    /// Pieces go to `sink` as they arrive; a model that does not stream hands over its whole text
    /// as one piece. Once a piece was handed over the request is not repeated. Dropping the future
    /// gives up the request.
    ///
    /// # Errors
    ///
    /// Every failure is a [`ModelError`], also an answer that ends early: there is no half message.
    fn generate<'a>(&'a self, request: Request<'a>, sink: &'a mut DeltaSink<'_>)
    -> ModelFuture<'a>;
}

macro_rules! forward {
    ($($pointer:ty)*) => {$(
        impl<M: Model + ?Sized> Model for $pointer {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn provider(&self) -> &str {
                (**self).provider()
            }

            fn searches_tools(&self) -> bool {
                (**self).searches_tools()
            }

            fn generate<'a>(&'a self, request: Request<'a>, sink: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
                (**self).generate(request, sink)
            }
        }
    )*};
}

forward!(Arc<M> Box<M>);
