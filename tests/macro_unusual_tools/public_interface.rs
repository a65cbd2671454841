#![allow(clippy::default_constructed_unit_structs)]
#![deny(private_interfaces, private_bounds, missing_docs, dead_code)]
//! Tools of a library.

use tool_core::{ToolSet, tool, tools};

mod inner {
    use tool_core::tool;

    /// Is public.
    #[tool]
    pub fn one() {}

    /// Is the crate's.
    #[tool(name = "two-2")]
    pub(crate) fn two() {}

    /// Is the parent's.
    #[tool]
    pub(super) fn three() {}
}

/// Takes itself.
#[tool]
pub async fn four(four: u8) -> u8 {
    four
}

/// All of them.
pub fn all() -> ToolSet {
    tools![inner::One, inner::Two, inner::Three, Four]
}

#[test]
fn m9_public_interface() {
    assert_eq!(all().len(), 4);
    let four = Four;
    let again = tools![four, self::inner::One,];
    assert_eq!(format!("{:?} {}", Four::default(), again.len()), "Four 2");
}
