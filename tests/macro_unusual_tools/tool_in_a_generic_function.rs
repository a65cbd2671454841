use tool_core::{Tool, tool};

fn name_of<T: ToString>(value: T) -> String {
    /// Lives in a generic function.
    #[tool]
    fn inner() {}

    inner();
    value.to_string() + Inner.name()
}

#[test]
fn m9_tool_in_a_generic_function() {
    assert_eq!(name_of(1), "1inner");
}
