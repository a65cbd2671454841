//! M9: tools made by macros.

pub use tool_core as __tool_core;

#[macro_export]
macro_rules! adder {
    ($(#[$meta:meta])* $vis:vis $name:ident($($param:ident: $ty:ty = $default:expr),*), $doc:literal, $limit:literal) => {
        $(#[$meta])*
        #[doc = $doc]
        #[$crate::__tool_core::tool(crate = $crate::__tool_core, max_run_time = $limit)]
        $vis fn $name($(#[param(default = $default)] $param: $ty,)* tool_call: &$crate::__tool_core::ToolCall) -> i64 {
            let _ = tool_call;
            0 $(+ i64::from($param))*
        }
    };
}

adder!(
    /// Adds.
    #[allow(clippy::too_many_arguments)]
    pub add(left: i32 = 1 + 1, right: i16 = -1),
    "Two numbers.",
    "90s"
);

macro_rules! described {
    ($name:ident, $text:expr) => {
        pub struct $name;

        #[tool_core::tool(description = $text)]
        impl $name {
            pub fn execute(&self, value: u8) -> u8 {
                value
            }
        }
    };
}

described!(First, "The first.");
described!(Second, concat!("The ", "second."));

macro_rules! schema {
    ($name:ident, $schema:tt, $ty:ty) => {
        /// Has a schema.
        #[tool_core::tool(schema = $schema)]
        pub fn $name(value: $ty) -> $ty {
            value
        }
    };
}

schema!(third, { "type": "object", "properties": { "value": { "type": "integer" } }, "required": ["value"] }, u8);
