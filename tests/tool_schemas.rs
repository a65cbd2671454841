//! M4, R1, R2, R3: what a model is told of annotated tools, and what it is told when it is wrong.

use std::fmt;
use std::process::Command;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tool_core::{
    AssistantMessage, Block, FunctionTool, Message, Outcome, Tool, ToolCall, ToolError, ToolResult,
    ToolSet, ToolSetErrorKind, Transcript, tool, tools,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// Newest first.
    Newest,
    /// Best first.
    Best,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Window {
    /// First day.
    start: Day,
    /// Last day.
    end: Day,
}

/// A day of the week, from 1.
#[derive(Debug, JsonSchema)]
#[schemars(with = "u8")]
struct Day(u8);

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            day @ 1..=7 => Ok(Day(day)),
            other => Err(serde::de::Error::custom(format_args!(
                "there is no day {other}"
            ))),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Searches the archive.
///
/// Give as few words as possible.
#[tool]
async fn search(
    /// What to look for.
    query: String,
    /// In which order.
    order: Option<Order>,
    /// On which days.
    window: Option<Window>,
    #[param(default = 10, range = 1..=100)] limit: u32,
    tool_call: &ToolCall,
) -> String {
    tokio::task::yield_now().await;
    let window = window.map(|window| format!("{}-{}", window.start, window.end));
    format!("{query} {order:?} {window:?} {limit} {}", tool_call.id)
}

/// Pings.
#[tool]
async fn ping(tool_call: &ToolCall) -> bool {
    tool_call.is_detached()
}

#[test]
fn m4_the_whole_schema_of_a_tool_b31_b35_b38_b40_b41() {
    assert_eq!(
        Search.definition().description(),
        "Searches the archive.\n\nGive as few words as possible."
    );
    let expected = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What to look for." },
            "order": {
                "description": "In which order.",
                "type": "string",
                "enum": ["newest", "best"]
            },
            "window": {
                "type": "object",
                "properties": {
                    "start": { "description": "First day.", "type": "integer", "minimum": 0, "maximum": 255 },
                    "end": { "description": "Last day.", "type": "integer", "minimum": 0, "maximum": 255 }
                },
                "required": ["start", "end"],
                "additionalProperties": false,
                "description": "On which days."
            },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 }
        },
        "required": ["query"],
        "additionalProperties": false
    });
    assert_eq!(Search.definition().schema().as_value(), &expected);
}

#[test]
fn m4_a_tool_with_nothing_but_injected_parameters_is_still_a_tool_b23() {
    let expected = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    assert_eq!(Ping.definition().schema().as_value(), &expected);
    assert_eq!(tools![Ping].names().collect::<Vec<_>>(), ["ping"]);
}

/// Not a test of its own: prints the schemas for the one below.
#[test]
fn print_schemas() {
    if std::env::var_os("PRINT_SCHEMAS").is_some() {
        for tool in tools![Search, Ping].iter() {
            println!(
                "schema {}",
                String::from_utf8_lossy(tool.definition().schema().as_json())
            );
        }
    }
}

#[test]
fn m4_a_schema_is_the_same_in_every_process_b37() {
    let print = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["print_schemas", "--exact", "--nocapture"])
            .env("PRINT_SCHEMAS", "1")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<String> = text
            .lines()
            .filter(|line| line.contains("schema {"))
            .map(str::to_owned)
            .collect();
        assert_eq!(lines.len(), 2, "{text}");
        lines
    };
    let here: Vec<String> = tools![Search, Ping]
        .iter()
        .map(|tool| String::from_utf8_lossy(tool.definition().schema().as_json()).into_owned())
        .collect();
    let there = print();
    assert_eq!(there, print());
    for (here, there) in here.iter().zip(&there) {
        assert!(there.contains(here.as_str()), "{here}\n{there}");
    }
}

/// The file was written by a debug build; a release build must agree with it. `SCHEMAS=overwrite`
/// writes it anew.
#[test]
fn m4_a_schema_is_the_same_in_debug_and_release_b37() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tool_schemas.jsonl");
    let schemas = tools![Search, Ping];
    let lines = schemas
        .iter()
        .map(|tool| String::from_utf8_lossy(tool.definition().schema().as_json()) + "\n");
    let here: String = lines.collect();
    if std::env::var("SCHEMAS").is_ok_and(|value| value == "overwrite") {
        std::fs::write(path, &here).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), here);
}

#[tokio::test]
async fn r2_an_async_tool_is_called_outside_a_chat_b13() {
    let output = Search
        .call(json!({ "query": "rust", "window": { "start": 1, "end": 5.0 } }))
        .await
        .unwrap();
    assert_eq!(output.as_text(), "rust None Some(\"1-5\") 10 detached");
    assert_eq!(Ping.call(Value::Null).await.unwrap().as_text(), "true");
}

#[tokio::test]
async fn r3_a_check_of_a_nested_type_says_where_and_why_b65() {
    let error = Search
        .call(json!({ "query": "x", "window": { "start": 1, "end": 9 } }))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid tool arguments: /window/end: there is no day 9"
    );
}

#[tokio::test]
async fn r3_every_fault_of_a_call_is_said_b59() {
    let arguments = json!({ "order": "oldest", "window": { "start": "x" }, "limit": 0, "size": 1 });
    let error = Search.call(arguments).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid tool arguments: missing `query` (a string); \
         /order: expected one of `newest`, `best`, got the string \"oldest\"; \
         /window: missing `end` (an integer); /window/start: expected an integer, got the string \"x\"; \
         /limit: expected a number of at least 1, got 0; \
         unknown key `size`; the known keys are `query`, `order`, `window`, `limit`"
    );
}

#[test]
fn r1_names_that_look_alike_stay_apart_and_the_same_name_is_refused_b76() {
    let named = |name: &str| -> Arc<dyn Tool> {
        let schema = json!({ "type": "object" });
        Arc::new(
            FunctionTool::new(name, "d", schema, async |_: Value| Ok::<_, ToolError>(1)).unwrap(),
        )
    };
    let set = ToolSet::try_from_tools([named("a-b"), named("a_b")]).unwrap();
    assert_eq!(set.names().collect::<Vec<_>>(), ["a-b", "a_b"]);
    assert_eq!(set.get("a_b").unwrap().name(), "a_b");
    assert!(set.get("A_b").is_none());
    let error = ToolSet::try_from_tools([named("a"), named("a")]).unwrap_err();
    assert_eq!(
        (error.name(), error.to_string().contains("`a`")),
        ("a", true)
    );
    for name in ["", "bad name!", "搜索", "1st", &"x".repeat(65)] {
        let error = ToolSet::try_from_tools([named(name)]).unwrap_err();
        assert_eq!(error.kind(), ToolSetErrorKind::Name, "{name:?}");
    }
    ToolSet::try_from_tools([named(&"x".repeat(64)), named("_"), named("a-B_9")]).unwrap();
}

#[test]
fn a_cut_never_parts_a_call_from_its_result_b95() {
    let answer = |ids: &[&str]| {
        let calls = ids
            .iter()
            .map(|id| Block::ToolCall(ToolCall::new(*id, "t", "{}")));
        Message::Assistant(AssistantMessage {
            blocks: calls.collect(),
            ..AssistantMessage::default()
        })
    };
    let result = |id: &str| {
        Message::Tool(ToolResult {
            call_id: id.into(),
            name: "t".into(),
            outcome: Outcome::Ok,
            text: "x".into(),
            attachments: Vec::new(),
        })
    };
    let messages = [
        Message::User("go".into()),
        answer(&["1", "2"]),
        result("1"),
        result("2"),
        answer(&["3"]),
        result("3"),
        Message::Assistant(AssistantMessage::from_text("done")),
    ];
    for (cut, kept) in [
        (0, 0),
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 4),
        (5, 4),
        (6, 6),
        (7, 7),
        (99, 7),
    ] {
        let mut transcript: Transcript = messages.iter().cloned().collect();
        transcript.truncate(cut);
        assert_eq!(transcript.messages().len(), kept, "cut at {cut}");
    }
}
