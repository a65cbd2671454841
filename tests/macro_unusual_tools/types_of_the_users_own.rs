use serde_json::json;
use tool_core::{Tool, tool};

mod own {
    use tool_core::schemars::JsonSchema;
    use tool_core::serde::{Deserialize, Serialize};

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(crate = "tool_core::serde")]
    #[schemars(crate = "tool_core::schemars")]
    pub struct ToolCall {
        pub id: String,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(crate = "tool_core::serde")]
    #[schemars(crate = "tool_core::schemars")]
    pub struct Task(pub String);
}

/// B73: types that are called like the runtime's are parameters and results as any other.
#[tool]
fn convert(call: own::ToolCall, task: own::Task) -> Result<own::Task, std::io::Error> {
    let _ = task;
    Ok(own::Task(call.id))
}

#[tokio::test]
async fn m9_types_of_the_users_own() {
    let arguments = json!({"call": {"id": "a"}, "task": "b"});
    let output = Convert.call(arguments).await.expect("output");
    assert_eq!(output.as_text(), "a");
}
