//! Wire formats: pure functions between the transcript and bytes.
//!
//! Nothing here does IO or knows a vendor. What vendors of one protocol do differently is data: a
//! [`Dialect`](chat_completions::Dialect).

pub mod chat_completions;
mod error;
pub mod gemini;
mod json;
mod schema;

pub use error::{parse_error, parse_error_event};
