//! P6: tools that come from elsewhere and change: listed once a turn, the same within one.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::{Arc, Mutex};

use serde_json::json;
use support::chat::{assert_paired, echo, results, set};
use tool_core::store::MemoryChats;
use tool_core::testing::ScriptedModel;
use tool_core::{
    Agent, Chat, ChatErrorKind, Event, Outcome, ToolError, ToolSet, ToolSource, ToolSourceFuture,
    Turn,
};

/// A source that a test changes.
#[derive(Clone)]
struct Shelf(&'static str, Arc<Mutex<State>>);

struct State {
    tools: Option<ToolSet>,
    asked: usize,
}

impl Shelf {
    fn new(label: &'static str, tools: Option<ToolSet>) -> Self {
        Shelf(label, Arc::new(Mutex::new(State { tools, asked: 0 })))
    }

    fn put(&self, tools: Option<ToolSet>) {
        self.1.lock().unwrap().tools = tools;
    }

    fn asked(&self) -> usize {
        self.1.lock().unwrap().asked
    }
}

impl ToolSource for Shelf {
    fn label(&self) -> &str {
        self.0
    }

    fn tools(&self) -> ToolSourceFuture<'_> {
        let mut state = self.1.lock().unwrap();
        state.asked += 1;
        let tools = state.tools.clone().ok_or(ToolError::new("it is closed"));
        Box::pin(std::future::ready(tools))
    }
}

fn tools(model: &ScriptedModel) -> Vec<Vec<String>> {
    let requests = model.requests();
    requests.into_iter().map(|request| request.tools).collect()
}

#[tokio::test]
async fn what_changes_within_a_turn_is_seen_in_the_next() {
    let shelf = Shelf::new("shelf", Some(set([echo("first")])));
    let model = ScriptedModel::new()
        .call("first", json!({}))
        .text("done")
        .text("again");
    let changed = shelf.clone();
    let mut chat = Chat::new(model.clone())
        .with_tools(set([echo("own")]))
        .with_tools_from(shelf.clone())
        .after_tool_result(move |_| changed.put(Some(set([echo("second")]))));
    chat.ask("go").await.unwrap();
    chat.ask("and now?").await.unwrap();
    assert_eq!(
        tools(&model),
        [["own", "first"], ["own", "first"], ["own", "second"]]
    );
    assert_eq!(results(&chat)[0].text, "first");
}

#[tokio::test]
async fn a_set_that_stays_the_same_is_rendered_once() {
    let shelf = Shelf::new("shelf", Some(set([echo("first")])));
    let model = ScriptedModel::new().text("one").text("two");
    let mut chat = Chat::new(model)
        .with_tools(set([echo("own")]))
        .with_tools_from(shelf.clone());
    chat.ask("go").await.unwrap();
    let render = |chat: &Chat, text: &'static [u8]| {
        chat.tools()
            .render(7, || Ok::<_, ()>(text.to_vec()))
            .unwrap()
    };
    render(&chat, b"once");
    chat.ask("go").await.unwrap();
    assert_eq!(&render(&chat, b"twice")[..], b"once");
    assert!(shelf.asked() >= 2);
}

#[tokio::test]
async fn names_that_are_taken_get_the_label_before_them() {
    let shelf = Shelf::new("my files", Some(set([echo("read"), echo("list")])));
    let other = Shelf::new("2nd", Some(set([echo("read"), echo("my_files_read")])));
    let model = ScriptedModel::new()
        .call("my_files_read", json!({}))
        .text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([echo("read")]))
        .with_tools_from(shelf)
        .with_tools_from(other);
    chat.ask("go").await.unwrap();
    let names: Vec<&str> = chat.tools().names().collect();
    assert_eq!(
        names,
        [
            "read",
            "my_files_read",
            "list",
            "_2nd_read",
            "_2nd_my_files_read"
        ]
    );
    assert_eq!(results(&chat)[0].text, "read");
}

#[tokio::test]
async fn a_source_that_never_could_say_is_an_error_and_one_that_could_a_warning() {
    let shelf = Shelf::new("shelf", None);
    let model = ScriptedModel::new()
        .text("one")
        .call("first", json!({}))
        .text("two");
    let mut chat = Chat::new(model)
        .with_tools(set([echo("own")]))
        .with_tools_from(shelf.clone());
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::ToolSource);
    assert_eq!(
        error.to_string(),
        "the tools of a source could not be listed: it is closed"
    );
    shelf.put(Some(set([echo("first")])));
    chat.ask("go").await.unwrap();
    shelf.put(None);
    let mut events = chat.events();
    chat.ask("again").await.unwrap();
    let warned = std::iter::from_fn(|| events.try_next()).any(|event| {
        event == Event::Warning("the tools of `shelf` stay as they were: it is closed".into())
    });
    assert!(warned);
    assert_eq!(results(&chat)[0].outcome, Outcome::Ok);
    assert_paired(chat.messages());
}

#[tokio::test]
async fn another_process_lists_them_before_it_goes_on() {
    let store = MemoryChats::new();
    let shelf = || Shelf::new("shelf", Some(set([echo("first")])));
    let model = ScriptedModel::new().call("first", json!({})).text("done");
    let agent = Agent::new(model.clone(), store.clone()).with_tools_from(shelf());
    let chat = agent.create().await.unwrap();
    chat.ask_later("go").await.unwrap();
    let other = Agent::new(model, store).with_tools_from(shelf());
    let mut found = other.find(chat.id()).await.unwrap();
    let turn = found.complete().await.unwrap();
    assert!(matches!(turn, Turn::Answer(_)), "{turn}");
    assert_paired(found.messages());
}
