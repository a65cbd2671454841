#![deny(warnings)]

use tool_core::tool;

/// Old.
#[tool]
#[deprecated(note = "use the new one")]
#[doc(alias = "ancient")]
#[inline]
#[must_use]
#[allow(clippy::too_many_arguments)]
fn old(#[allow(unused_variables)] value: u8) -> u8 {
    1
}

#[test]
fn m9_attributes_are_kept() {
    let _ = Old;
}
