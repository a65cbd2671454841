use tool_core::tool;

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

fn main() {}
