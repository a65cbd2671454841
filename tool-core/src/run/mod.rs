//! The loop over model and tools: it decides without IO ([`step`]), and a thin [`driver`] does the
//! IO without deciding.

mod acting;
mod admit;
mod cancel;
mod context;
pub(crate) mod driver;
mod error;
mod event;
mod execute;
mod journal;
mod limits;
mod outbox;
mod recover;
mod restore;
mod round;
mod spill;
mod step;
mod trace;

pub(crate) use acting::Acting;
pub use cancel::CancelHandle;
pub(crate) use cancel::Cancellation;
pub(crate) use context::{Question, RunContext};
pub use error::{ChatError, ChatErrorKind};
pub(crate) use event::Hub;
pub use event::{Event, Events};
pub(crate) use journal::{Deadline, Deadlines, Journal};
pub use limits::{Limits, Stop};
pub(crate) use outbox::Outbox;
pub(crate) use restore::restore;
pub(crate) use round::{CallState, PendingCall, Round};
pub(crate) use step::{Next, next};
