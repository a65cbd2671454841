//! M8: every mistake is one clear error, on the token. The `.stderr` files are what a user reads.

#[test]
fn m8_mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
