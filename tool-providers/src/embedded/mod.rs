//! A small tool-calling model that runs in this process, with no key and no network.

mod compact;
mod engine;
mod error;
mod fetch;
mod guide;
mod lower;
mod progress;
mod weights;

pub use compact::CompactTool;
pub use engine::{Answer, Call, Engine, Question};
pub use error::{EmbeddedError, EmbeddedErrorKind};
pub use weights::Weights;
