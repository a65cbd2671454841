//! M1, M2, M6, M7: `#[tool]` over an `impl` block.

use std::sync::Mutex;

use serde_json::json;
use tool_core::{Decision, Task, TaskPoll, Tool, ToolCall, ToolError, tool, tools};

#[derive(Debug, Default)]
struct Counter {
    total: Mutex<u64>,
}

/// Not this one.
#[tool(name = "count_up", requires_approval = Self::is_large, max_run_time = "1m 30s")]
impl Counter {
    const STEP: u64 = 1;

    /// Adds to the counter.
    async fn execute(
        &self,
        /// How much.
        #[param(default = Self::STEP)]
        step: u64,
        tool_call: &ToolCall,
    ) -> Result<u64, ToolError> {
        assert_eq!(tool_call.name, "count_up");
        Ok(self.add(step))
    }

    fn is_large(&self, call: &ToolCall) -> bool {
        call.arguments.as_str().len() > 20
    }

    fn add(&self, step: u64) -> u64 {
        let mut total = self.total.lock().expect("lock");
        *total += step;
        *total
    }
}

#[tokio::test]
async fn m1_the_type_itself_is_the_tool_and_its_fields_are_kept() {
    let counter = Counter::default();
    counter.add(40);
    let output = counter.call(json!({"step": 2})).await.expect("total");
    assert_eq!(output.as_text(), "42");
    let output = counter.call(json!({})).await.expect("total");
    assert_eq!(output.as_text(), "43");
}

#[test]
fn m2_the_description_is_that_of_execute() {
    let counter = Counter::default();
    assert_eq!(counter.definition().description(), "Adds to the counter.");
    assert_eq!(counter.name(), "count_up");
}

#[test]
fn m7_a_predicate_sees_the_tool_and_the_call() {
    let counter = Counter::default();
    assert!(counter.definition().requires_approval());
    let call = |text: &str| ToolCall::new("1", "count_up", text);
    assert!(!counter.requires_approval(&call("{}")));
    assert!(counter.requires_approval(&call(r#"{"step": 100000000000}"#)));
}

struct WeatherTool;

/// Gets the weather.
#[tool(approval = Self::decide)]
impl WeatherTool {
    fn execute(&self) {}

    async fn decide(&self, call: &ToolCall) -> Decision {
        Decision::denied(call.id.clone())
    }
}

#[tokio::test]
async fn m7_a_resolver_reads_the_decision() {
    assert_eq!(WeatherTool.name(), "weather");
    assert_eq!(WeatherTool.definition().description(), "Gets the weather.");
    assert!(WeatherTool.definition().requires_approval());
    let call = ToolCall::new("7", "weather", "{}");
    let decision = WeatherTool.approval(&call).expect("a resolver").await;
    assert_eq!(decision, Decision::denied("7"));
}

struct Export;

#[tool]
impl Export {
    /// Exports a table.
    async fn execute(&self, table: String, tool_call: &ToolCall) -> Task {
        Task::new(format!("{table}-{}", tool_call.id))
    }

    async fn resume(
        &self,
        task: &Task,
        tool_call: Option<&ToolCall>,
        table: &str,
    ) -> Result<TaskPoll<String>, ToolError> {
        assert!(tool_call.is_some_and(|call| call.id == "1") || tool_call.is_none());
        Ok(TaskPoll::Ready(format!("{table}: {}", task.data)))
    }
}

struct Patient;

#[tool]
impl Patient {
    /// Waits for something that needs no reference.
    async fn execute(&self) -> Task {
        Task::new(())
    }

    async fn resume(&self, _task: Task) -> TaskPoll<u8> {
        TaskPoll::Ready(7)
    }
}

#[tokio::test]
async fn m10_resume_may_leave_the_task_unused() {
    let output = Patient.call(json!({})).await.expect("task");
    let task = output.as_task().expect("a task").clone();
    let call = ToolCall::new("1", "patient", json!({}));
    let output = Tool::resume(&Patient, task, &call).await.expect("result");
    assert_eq!(output.as_text(), "7");
}

#[tokio::test]
async fn m10_resume_goes_on_with_a_task() {
    let output = Export.call(json!({"table": "orders"})).await.expect("task");
    let task = output.as_task().expect("a task").clone();
    let call = ToolCall::new("1", "export", json!({"table": "orders"}));
    let output = Tool::resume(&Export, task, &call).await.expect("result");
    assert_eq!(output.as_text(), "orders: \"orders-detached\"");
}

mod shop {
    pub(super) struct Order<T>(pub(super) T);
}

/// Takes its own type.
#[tool(name = "own")]
impl shop::Order<u8> {
    async fn execute(&self, values: Vec<<Self as Iterator>::Item>) -> u8 {
        self.0 + values.iter().sum::<u8>()
    }
}

impl Iterator for shop::Order<u8> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        None
    }
}

#[tokio::test]
async fn m1_self_can_be_named_in_a_parameter_and_the_type_may_have_arguments() {
    let order = shop::Order(1);
    assert_eq!(
        order
            .call(json!({"values": [2, 3]}))
            .await
            .expect("sum")
            .as_text(),
        "6"
    );
    assert_eq!(tools![order, Export].len(), 2);
}

/// Somebody else's task.
#[derive(serde::Serialize)]
struct Todo(&'static str);

mod todo {
    #[derive(serde::Serialize)]
    pub(super) struct Task {
        pub(super) title: String,
    }
}

/// Creates a task of a to-do list.
#[tool]
fn create_task(title: String) -> todo::Task {
    todo::Task { title }
}

#[tokio::test]
async fn b73_another_type_called_task_is_a_result() {
    let output = CreateTask
        .call(json!({"title": "Buy milk"}))
        .await
        .expect("task");
    assert_eq!(output.as_text(), r#"{"title":"Buy milk"}"#);
    assert_eq!(Todo("").0, "");
}

#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Shout {
    #[expect(dead_code, reason = "only its schema is used")]
    text: String,
}

#[tool(description = Self::ABOUT, schema = Self, name = "shout")]
impl Shout {
    const ABOUT: &str = "Shouts.";

    fn execute(
        &self,
        #[param(description = Self::ABOUT)]
        #[serde(deserialize_with = "Self::upper")]
        text: String,
    ) -> String {
        text
    }

    fn upper<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        <String as serde::Deserialize>::deserialize(deserializer).map(|text| text.to_uppercase())
    }
}

#[tokio::test]
async fn m2_m5_attributes_may_name_self() {
    let shout = Shout {
        text: String::new(),
    };
    assert_eq!(shout.definition().description(), "Shouts.");
    assert_eq!(
        shout.definition().schema().as_value()["properties"]["text"]["type"],
        "string"
    );
    assert_eq!(
        shout
            .call(json!({"text": "a"}))
            .await
            .expect("text")
            .as_text(),
        "A"
    );
}
