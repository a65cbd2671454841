//! M9: no prelude, and every name that generated code could use means something else.
#![no_implicit_prelude]
#![allow(dead_code, unused_macros)]

mod std {}
mod core {}
mod alloc {}
mod tool_core {}
mod serde {}
mod schemars {}

struct Option;
struct Result;
struct Some;
struct None;
struct Ok;
struct Err;
struct Box;
struct Vec;
struct Future;
struct Tool;
struct ToolCall;
struct Param;
struct Send;
struct Default;
struct From;
trait Into {}
macro_rules! vec {
    () => {};
}
macro_rules! concat {
    () => {};
}
macro_rules! panic {
    () => {};
}

/// Adds two numbers.
#[::tool_core::tool(max_run_time = "90s", spill_to_file = 10, strict)]
pub async fn add(
    /// The first.
    left: i64,
    #[param(default = 2, example = 1)] right: i64,
    text: &str,
    maybe: ::std::option::Option<&str>,
    #[param(default = "x")] name: ::std::string::String,
    tool_call: &::tool_core::ToolCall,
) -> ::std::result::Result<i64, ::std::fmt::Error> {
    let _ = (text, maybe, name, tool_call);
    ::std::result::Result::Ok(left + right)
}

pub struct Counter;

/// Counts.
#[::tool_core::tool(approval = decide)]
impl Counter {
    pub fn execute(&self) {}
}

async fn decide(_: &Counter, _: &::tool_core::ToolCall) -> ::tool_core::Decision {
    ::tool_core::Decision::Pending
}

pub fn tools() -> ::tool_core::ToolSet {
    ::tool_core::tools![Add, Counter]
}
