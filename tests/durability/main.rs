//! D3, D4, B118, B119: processes are killed with SIGKILL and stopped with SIGSTOP, and so is the database's
//! server. Nothing is lost, no result is recorded twice, a call runs again only where its run was
//! interrupted, and what a call does in its transaction happens exactly once.
//!
//! `DURABILITY_CHATS=1000 DURABILITY_KILLS=40 scripts/test --test durability -- --nocapture` is the long run.

#[allow(dead_code)]
#[path = "../support/chat.rs"]
mod chat;
mod every_operation;
mod kills;
#[allow(dead_code)]
#[path = "../support/postgres.rs"]
mod postgres;
mod process;
mod server;
mod stopped;
mod world;
