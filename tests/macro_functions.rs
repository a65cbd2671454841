//! M1: `#[tool]` over a function.

use serde_json::json;
use tool_core::{Tool, ToolCall, ToolError, tool};

/// Adds two numbers.
#[tool]
fn add(
    /// The first.
    left: i64,
    right: i64,
) -> i64 {
    left + right
}

#[tokio::test]
async fn m1_the_function_stays_callable_and_the_type_is_a_tool() {
    assert_eq!(add(1, 2), 3);
    let output = Add.call(json!({"left": 1, "right": 2})).await.expect("sum");
    assert_eq!(output.as_text(), "3");
    assert_eq!(Add.name(), "add");
}
