//! C11: spans with the OpenTelemetry names for generative AI.

mod support;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::json;
use support::chat::{echo, set, tool};
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Config, ToolError, Usage};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// Keeps the fields of every span.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(String, Fields)>>>);

struct Collect<'a>(&'a mut Fields);

impl Visit for Collect<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        attributes.record(&mut Collect(&mut fields));
        let mut spans = self.0.lock().unwrap();
        spans.push((attributes.metadata().name().to_owned(), fields));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.0.lock().unwrap();
        values.record(&mut Collect(&mut spans[span.into_u64() as usize - 1].1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn spans(config: Config) -> Vec<(String, Fields)> {
    let collector = Collector::default();
    let _guard = tracing::subscriber::set_default(collector.clone());
    let fail = tool("fail", || async { Err(ToolError::new("private")) });
    let model = ScriptedModel::new()
        .calls([("ok", json!({})), ("fail", json!({}))])
        .usage(Usage::new(10, 5))
        .text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([echo("ok"), fail]))
        .with_config(config);
    chat.ask("private question").await.unwrap();
    let spans = collector.0.lock().unwrap();
    let ours = spans
        .iter()
        .filter(|(name, _)| name == "chat" || name == "execute_tool");
    ours.cloned().collect()
}

#[tokio::test]
async fn requests_and_calls_have_spans_by_the_conventions_c11() {
    let spans = spans(Config::new()).await;
    let names: Vec<&str> = spans
        .iter()
        .map(|(_, fields)| fields["otel.name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "chat scripted",
            "execute_tool ok",
            "execute_tool fail",
            "chat scripted"
        ]
    );
    let (_, chat) = &spans[0];
    assert_eq!(chat["gen_ai.operation.name"], "chat");
    assert_eq!(chat["gen_ai.provider.name"], "testing");
    assert_eq!(chat["gen_ai.request.model"], "scripted");
    assert_eq!(
        (
            chat["gen_ai.usage.input_tokens"].as_str(),
            chat["gen_ai.usage.output_tokens"].as_str()
        ),
        ("10", "5")
    );
    let (_, call) = &spans[1];
    assert_eq!(call["gen_ai.operation.name"], "execute_tool");
    assert_eq!(call["gen_ai.tool.name"], "ok");
    assert_eq!(call["gen_ai.tool.call.id"], "call_0_0");
    assert!(!call.contains_key("error.type"));
    assert_eq!(spans[2].1["error.type"], "Error");
}

#[tokio::test]
async fn contents_are_traced_only_when_asked_for_c11() {
    let without = format!("{:?}", spans(Config::new()).await);
    assert!(
        !without.contains("private") && !without.contains("arguments"),
        "{without}"
    );
    let with = spans(Config::new().trace_contents(true)).await;
    assert_eq!(with[1].1["gen_ai.tool.call.arguments"], "{}");
    assert_eq!(with[2].1["gen_ai.tool.call.result"], "private");
}
