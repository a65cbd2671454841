//! What several test files share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod asking;
pub mod cassette;
pub mod chat;
pub mod mcp;
pub mod proxy;
pub mod requests;
pub mod server;
pub mod tls;
pub mod vendors;
