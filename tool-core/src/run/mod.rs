//! The loop over model and tools: it decides without IO ([`step`]), and a thin [`driver`] does the
//! IO without deciding.

mod cancel;
pub(crate) mod driver;
mod error;
mod event;
mod execute;
mod round;
mod spill;
mod step;

pub use cancel::CancelHandle;
pub(crate) use cancel::Cancellation;
pub use error::{ChatError, ChatErrorKind};
pub(crate) use event::Hub;
pub use event::{Event, Events};
pub(crate) use round::{CallState, PendingCall, Round};
pub(crate) use spill::Overflow;
pub(crate) use step::{Next, Policy, next};
