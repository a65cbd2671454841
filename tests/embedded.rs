//! P5: the embedded model answers in this process, with no key and no network.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_core::model::{Delta, DeltaSink, ModelFuture, Request};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Calls, Chat, FunctionTool, Message, Model, RequestOptions, Tool, ToolChoice, ToolError,
    ToolOptions, ToolSet, Transcript, UserMessage,
};
use tool_providers::embedded::{CompactTool, Embedded, EmbeddedErrorKind, Question};

/// The model, unless it cannot be fetched here.
fn model() -> Option<Embedded> {
    let model = Embedded::new();
    let loaded = model.load();
    loaded
        .inspect_err(|error| eprintln!("skipped: {error}"))
        .ok()?;
    Some(model)
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
    give: fn(Value) -> Result<String, ToolError>,
) -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Arc::new(
        FunctionTool::new(
            name,
            description,
            schema,
            move |arguments: Value| async move { give(arguments) },
        )
        .unwrap(),
    )
}

fn tools() -> ToolSet {
    ToolSet::from_tools([
        tool(
            "convert_unit",
            "Convert an amount between units of temperature, length, mass, volume or speed.",
            json!({
                "amount": {"type": "number", "description": "The number to convert"},
                "from": {"type": "string", "description": "Unit of the amount, such as miles"},
                "to": {"type": "string", "description": "Unit wanted, such as kilometers"},
            }),
            &["amount", "from", "to"],
            |arguments| {
                Ok(format!(
                    "{} {} converted to {}",
                    arguments["amount"], arguments["from"], arguments["to"]
                ))
            },
        ),
        tool(
            "read_file",
            "Read the text of a file.",
            json!({"path": {"type": "string", "description": "Path of the file"}}),
            &["path"],
            |arguments| {
                Err(ToolError::new(format!(
                    "there is no file {}",
                    arguments["path"]
                )))
            },
        ),
    ])
}

#[tokio::test]
async fn a_question_is_answered_by_a_tool() {
    let Some(model) = model() else { return };
    let mut chat = Chat::new(model).with_tools(tools());
    let turn = chat
        .ask("What is 17.5 degrees Celsius in Fahrenheit?")
        .await
        .unwrap();
    assert_eq!(
        turn.text().to_lowercase(),
        r#"17.5 "celsius" converted to "fahrenheit""#
    );
    let usage = chat.usage();
    assert!(
        usage.input_tokens > 100 && usage.output_tokens > 20,
        "{usage:?}"
    );

    let turn = chat.ask("Read notes.txt").await.unwrap();
    assert_eq!(
        turn.text(),
        r#"`read_file` failed: there is no file "notes.txt""#
    );
}

#[tokio::test]
async fn where_no_tool_fits_it_says_so() {
    let Some(model) = model() else { return };
    let mut chat = Chat::new(model).with_tools(tools());
    let turn = chat.ask("Who won the world cup in 1998?").await.unwrap();
    assert_eq!(
        turn.text(),
        "None of my tools fits that. I can call: convert_unit, read_file."
    );
}

#[tokio::test]
async fn a_tool_that_may_not_be_called_is_not_offered_c2() {
    let Some(model) = model() else { return };
    let mut chat = Chat::new(model)
        .with_tools(tools())
        .with_tool_options(ToolOptions::new().only(["read_file"]));
    let turn = chat.ask("Who won the world cup in 1998?").await.unwrap();
    assert_eq!(
        turn.text(),
        "None of my tools fits that. I can call: read_file."
    );
}

#[tokio::test]
async fn a_forced_tool_is_called_and_no_other() {
    let Some(model) = model() else { return };
    let mut chat = Chat::new(model)
        .with_tools(tools())
        .with_tool_options(ToolOptions::new().choice("read_file").calls(Calls::One));
    let turn = chat.ask("Who won the world cup in 1998?").await.unwrap();
    assert!(turn.text().contains("`read_file` failed"), "{turn}");
    let called: Vec<_> = chat
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Assistant(answer) => Some(answer.tool_calls().map(|call| call.name.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(called, ["read_file"]);
}

#[test]
fn arguments_hold_to_the_schema() {
    let Some(model) = model() else { return };
    let engine = model.load().unwrap();
    let schema = json!({
        "type": "object",
        "properties": {
            "table": {"$ref": "#/$defs/Table"},
            "guests": {"type": "integer", "minimum": 1, "maximum": 20},
            "day": {"type": "string", "format": "date"},
            "tree": {"$ref": "#/$defs/Tree"},
        },
        "required": ["table", "guests", "day"],
        "additionalProperties": false,
        "$defs": {
            "Table": {"oneOf": [{"const": "window", "description": "By the window"}, {"const": "garden"}]},
            "Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}, "required": [], "additionalProperties": false},
        },
    });
    let tools = [CompactTool::new(
        "book_table",
        "Book a table in a restaurant.",
        &schema,
    )];
    let question = Question {
        text: "Book a garden table for 4 people on 2026-12-24",
        system: None,
        calls: 1..=1,
    };
    let answer = engine.calls(&question, &tools).unwrap();
    assert!(answer.is_confident() && !answer.cut_off);
    let arguments: Value = serde_json::from_str(answer.calls[0].arguments.get()).unwrap();
    assert_eq!(arguments["table"], "garden");
    assert_eq!(arguments["guests"], 4);
    assert_eq!(arguments["day"], "2026-12-24");
    let again = engine.calls(&question, &tools).unwrap();
    assert_eq!(
        again.calls[0].arguments.get(),
        answer.calls[0].arguments.get()
    );
}

#[test]
fn a_pattern_beyond_the_guide_is_left_to_the_gate() {
    let Some(model) = model() else { return };
    let engine = model.load().unwrap();
    let schema = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "pattern": "^(?!x)\\w+$"}}});
    let tools = [CompactTool::new(
        "weather",
        "Get the weather in a city.",
        &schema,
    )];
    let question = Question {
        text: "What is the weather in Paris?",
        system: None,
        calls: 0..=1,
    };
    let answer = engine.calls(&question, &tools).unwrap();
    assert_eq!(answer.calls[0].arguments.get(), r#"{"city":"Paris"}"#);
}

#[test]
fn too_long_a_question_is_an_error() {
    let Some(model) = model() else { return };
    let text = "word ".repeat(9000);
    let question = Question {
        text: &text,
        system: None,
        calls: 0..=1,
    };
    let error = model.load().unwrap().calls(&question, &[]).unwrap_err();
    assert_eq!(error.kind(), EmbeddedErrorKind::ContextLength);
}

/// Follows a script for the calls, and leaves what comes after them to the embedded model.
struct Scripted(ScriptedModel, Embedded);

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn provider(&self) -> &str {
        "test"
    }

    fn generate<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut DeltaSink<'_>,
    ) -> ModelFuture<'a> {
        match request.transcript.messages().last() {
            Some(Message::Tool(_)) => self.1.generate(request, sink),
            _ => self.0.generate(request, sink),
        }
    }
}

/// The answer once these calls ran; the embedded model need not be loaded for it.
async fn after(calls: &[(&str, &str)], tools: ToolSet) -> String {
    let calls = calls
        .iter()
        .map(|(name, arguments)| (*name, Value::from(*arguments)));
    let model = Scripted(ScriptedModel::new().calls(calls), Embedded::new());
    let mut chat = Chat::new(model).with_tools(tools);
    chat.ask("go").await.unwrap().text()
}

#[tokio::test]
async fn results_are_rendered() {
    let give = || {
        let gives = |name, give| tool(name, "Gives.", json!({"n": {"type": "integer"}}), &[], give);
        ToolSet::from_tools([
            gives("number", |_| Ok("1.50".into())),
            gives("object", |_| {
                Ok(r#"{"city":"Paris","wind":{"speed":3},"days":[],"tags":["a","b"]}"#.into())
            }),
            gives("fails", |_| Err(ToolError::new("no luck"))),
        ])
    };
    assert_eq!(after(&[("number", "{}")], give()).await, "1.50");
    let object = "city: Paris\nwind:\n  speed: 3\ndays: nothing\ntags:\n  - a\n  - b";
    assert_eq!(after(&[("object", "{}")], give()).await, object);
    assert_eq!(
        after(&[("fails", "{}")], give()).await,
        "`fails` failed: no luck"
    );
    let several = after(
        &[
            ("number", r#"{"n":1}"#),
            ("number", r#"{"n":2}"#),
            ("fails", "{}"),
            ("object", "{}"),
        ],
        give(),
    )
    .await;
    assert_eq!(
        several,
        format!(
            "number(n: 1): 1.50\nnumber(n: 2): 1.50\n`fails` failed: no luck\nobject:\n{object}"
        )
    );
}

#[tokio::test]
async fn without_tools_it_says_what_it_is() {
    let transcript = Transcript::from_iter([Message::User(UserMessage::new("hello"))]);
    let (tools, options) = (tools(), RequestOptions::new());
    for (tools, choice) in [
        (&ToolSet::new(), ToolChoice::Auto),
        (&tools, ToolChoice::None),
    ] {
        let mut text = String::new();
        let mut sink = |delta: &Delta<'_>| {
            if let Delta::Text(piece) = delta {
                text.push_str(piece);
            }
        };
        let request = Request::new(&transcript, tools, &choice, &options);
        let answer = Embedded::new().generate(request, &mut sink).await.unwrap();
        assert_eq!(
            answer.text(),
            "I can only call tools, and there is none that I may call."
        );
        assert_eq!(answer.text(), text);
    }
}
