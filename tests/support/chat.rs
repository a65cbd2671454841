//! Tools, logs and the invariant, for the tests of the loop.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_core::{Chat, FunctionTool, Message, Outcome, Tool, ToolError, ToolResult, ToolSet};

/// A tool without parameters that runs `work`.
pub fn tool<R, F>(name: &str, work: F) -> Arc<dyn Tool>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    let schema = json!({ "type": "object" });
    Arc::new(FunctionTool::new(name, "A tool.", schema, move |_: Value| work()).unwrap())
}

/// A tool without parameters that gives its name.
pub fn echo(name: &'static str) -> Arc<dyn Tool> {
    tool(name, move || async move { Ok(name.into()) })
}

pub fn set(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> ToolSet {
    ToolSet::from_tools(tools)
}

/// Checks the one invariant: right after each answer stands one result for each of its calls, in call
/// order, and nowhere else.
pub fn assert_paired(messages: &[Message]) {
    let mut expected: Vec<(String, String)> = Vec::new();
    for message in messages {
        match message {
            Message::Tool(result) => {
                assert!(!expected.is_empty(), "a result without a call: {result:?}");
                let call = expected.remove(0);
                assert_eq!(call, (result.call_id.clone(), result.name.clone()));
                assert!(!result.text.is_empty(), "an empty result");
            }
            other => {
                assert!(
                    expected.is_empty(),
                    "calls without a result before {other:?}: {expected:?}"
                );
                if let Message::Assistant(answer) = other {
                    expected = answer
                        .tool_calls()
                        .map(|call| (call.id.clone(), call.name.clone()))
                        .collect();
                }
            }
        }
    }
    assert!(
        expected.is_empty(),
        "calls without a result at the end: {expected:?}"
    );
}

pub fn results(chat: &Chat) -> Vec<ToolResult> {
    let results = chat.messages().iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

pub fn outcomes(chat: &Chat) -> Vec<Outcome> {
    results(chat)
        .into_iter()
        .map(|result| result.outcome)
        .collect()
}

/// A log that closures can share.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
