#![allow(clippy::needless_arbitrary_self_type)]
use serde_json::json;
use tool_core::{Tool, tool};

struct Plain;

#[tool]
impl Plain {
    /// By its type.
    fn execute(self: &Self) {}
}

struct Lifetimed;

#[tool]
impl Lifetimed {
    /// With the lifetime that is there anyway.
    async fn execute(&'_ self, text: &'_ str) -> String {
        text.to_owned()
    }
}

#[tokio::test]
async fn m9_every_kind_of_receiver() {
    let output = Plain.call(json!({})).await.expect("output");
    assert_eq!(output.as_text(), "null");
    let output = Lifetimed.call(json!({"text": "a"})).await.expect("output");
    assert_eq!(output.as_text(), "a");
}
