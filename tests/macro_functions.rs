//! M1, M2, M6: `#[tool]` over a function.

use serde_json::json;
use tool_core::{Tool, ToolCall, tool, tools};

/// Adds two numbers.
///
/// Both are whole.
#[tool]
fn add(
    /// The first.
    ///
    /// Any sign.
    left: i64,
    right: i64,
) -> i64 {
    left + right
}

/// Greets somebody.
#[tool]
pub(crate) async fn greet(
    name: &str,
    title: Option<&str>,
    tool_call: &ToolCall,
    punctuation: char,
) -> String {
    let title = title.map(|title| format!("{title} ")).unwrap_or_default();
    format!("Hello {title}{name}{punctuation} ({})", tool_call.id)
}

/// Says whether it runs in a chat.
#[tool]
async fn detached(tool_call: Option<&ToolCall>) -> bool {
    tool_call.is_none()
}

/// A future by its type.
#[tool]
fn later(value: u8) -> impl Future<Output = u8> + Send {
    std::future::ready(value)
}

#[doc = "Described by"]
#[doc = concat!("an ", "expression.")]
#[tool]
fn described() {}

/// Takes a mutable argument.
#[tool]
fn count(mut words: Vec<String>) -> usize {
    words.dedup();
    words.len()
}

#[tokio::test]
async fn m1_the_function_stays_callable_and_its_type_is_a_tool() {
    assert_eq!(add(1, 2), 3);
    let output = Add.call(json!({"left": 1, "right": 2})).await.expect("sum");
    assert_eq!(output.as_text(), "3");
    assert!(Add.definition().is_blocking());
    assert!(!Greet.definition().is_blocking());
}

#[tokio::test]
async fn m1_a_function_that_returns_a_future_is_awaited() {
    assert_eq!(
        Later
            .call(json!({"value": 7}))
            .await
            .expect("value")
            .as_text(),
        "7"
    );
    assert!(!Later.definition().is_blocking());
}

#[tokio::test]
async fn m1_b05_text_is_borrowed_where_the_function_borrows_it() {
    let arguments = json!({"name": "Ada", "title": "Countess", "punctuation": "!"});
    let output = Greet.call(arguments).await.expect("greeting");
    assert_eq!(output.as_text(), "Hello Countess Ada! (detached)");
    let output = Greet
        .call(json!({"name": "Ada", "punctuation": "!"}))
        .await
        .expect("greeting");
    assert_eq!(output.as_text(), "Hello Ada! (detached)");
}

#[test]
fn m2_the_doc_comment_is_the_description() {
    assert_eq!(
        Add.definition().description(),
        "Adds two numbers.\n\nBoth are whole."
    );
    let schema = Add.definition().schema().as_value().clone();
    assert_eq!(
        schema["properties"]["left"]["description"],
        "The first.\n\nAny sign."
    );
    assert_eq!(schema["properties"]["right"].get("description"), None);
    assert_eq!(
        Described.definition().description(),
        "Described by\nan expression."
    );
}

#[tokio::test]
async fn m6_tool_call_is_filled_in_and_is_not_in_the_schema() {
    let schema = Greet.definition().schema().as_value().clone();
    assert_eq!(schema["properties"].get("tool_call"), None);
    assert_eq!(
        Detached.definition().schema().as_value()["properties"],
        json!({})
    );
    assert_eq!(
        Detached.call(json!({})).await.expect("flag").as_text(),
        "true"
    );
}

#[tokio::test]
async fn m6_b70_an_argument_of_that_name_cannot_set_it() {
    let sent = json!({"name": "Ada", "punctuation": ".", "tool_call": {"id": "evil"}});
    if let Ok(output) = Greet.call(sent).await {
        assert_eq!(output.as_text(), "Hello Ada. (detached)");
    }
}

#[tokio::test]
async fn m1_a_mutable_parameter_is_a_parameter() {
    assert_eq!(
        Count
            .call(json!({"words": ["a", "a"]}))
            .await
            .expect("count")
            .as_text(),
        "1"
    );
}

#[test]
fn m1_a_tool_may_live_in_a_function() {
    /// Lives here only.
    #[tool]
    fn local(value: u8) -> u8 {
        value
    }
    assert_eq!(
        tools![Local, Add].names().collect::<Vec<_>>(),
        ["local", "add"]
    );
}

mod inner {
    use tool_core::tool;

    /// Is public.
    #[tool]
    pub(super) fn visible() {}
}

#[test]
fn m9_visibility_is_that_of_the_function() {
    assert_eq!(inner::Visible.name(), "visible");
    assert_eq!(tools![inner::Visible, Add,].len(), 2);
    assert!(tools![].is_empty());
}

/// Exists on some systems.
#[tool]
#[cfg(any())]
fn nowhere() -> Missing {}

/// Exists everywhere.
#[cfg(not(target_os = "none"))]
#[tool]
fn everywhere() {}

#[test]
fn m9_cfg_gates_the_type_too() {
    assert_eq!(Everywhere.name(), "everywhere");
}
