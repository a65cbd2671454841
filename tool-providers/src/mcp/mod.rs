//! Tools of servers of the Model Context Protocol, and our tools as such a server. With the feature `mcp`.
//!
//! | to | see |
//! | --- | --- |
//! | use the tools of a server | [`McpServer`], [`Mcp`], [`Chat::with_mcp`](tool_core::Chat::with_mcp) |
//! | be a server | [`McpService`], [`serve_stdio`] |
//! | say which of them wait for a decision, by what the server says of them | [`RemoteTool`] |

mod child;
mod client;
mod connection;
mod content;
mod elicit;
mod error;
mod flights;
mod names;
mod remote;
mod rules;
mod running;
mod schema;
mod serve;
mod session;
mod task;
mod tool;
mod web;

pub use client::Mcp;
pub use error::{McpError, McpErrorKind};
pub use remote::{Generation, McpServer};
pub use rules::RemoteTool;
pub use serve::{McpService, serve_stdio};
