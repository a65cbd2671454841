//! D4: what a tool does in its transaction and what is recorded of the call are true together or not at all.
#![allow(clippy::unwrap_used)]

#[path = "support/file.rs"]
mod file;
#[path = "support/postgres.rs"]
mod postgres;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sqlx::Row;
use tokio::sync::Semaphore;
use tool_core::store::{
    ChatStore, MemoryChats, PostgresChats, PostgresTransaction, SqliteChats, SqliteTransaction,
};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Agent, Chat, Concurrency, Message, Outcome, Task, TaskPoll, ToolCall, ToolOptions, ToolResult,
    ToolSet, Turn, tool, tools,
};

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A database with a table of notes beside its chats.
#[derive(Clone)]
enum Store {
    Sqlite(SqliteChats),
    Postgres(PostgresChats),
}

const TABLE: &str = "create table notes (text text not null)";

impl Store {
    async fn sqlite(file: &file::File) -> Self {
        let store = SqliteChats::open(file.path()).unwrap();
        let connection = rusqlite::Connection::open(file.path()).unwrap();
        connection.execute_batch(TABLE).unwrap();
        let strict = "create table known (id integer primary key);
            create table strict_notes (note integer references known (id) deferrable initially deferred)";
        connection.execute_batch(strict).unwrap();
        Store::Sqlite(store)
    }

    async fn postgres(database: &postgres::Database) -> Self {
        let store = database.chats().await;
        sqlx::raw_sql(TABLE).execute(store.pool()).await.unwrap();
        Store::Postgres(store)
    }

    async fn note(&self, call: &ToolCall, text: &str) -> Fallible<()> {
        match self {
            Store::Sqlite(_) => {
                let transaction = call.transaction::<SqliteTransaction>().await?;
                transaction.execute("insert into notes (text) values (?1)", [text])?;
            }
            Store::Postgres(_) => {
                let mut transaction = call.transaction::<PostgresTransaction>().await?;
                sqlx::query("insert into notes (text) values ($1)")
                    .bind(text)
                    .execute(&mut **transaction)
                    .await?;
            }
        }
        Ok(())
    }

    async fn notes(&self) -> Vec<String> {
        const ALL: &str = "select text from notes order by text";
        match self {
            Store::Sqlite(store) => {
                let connection = rusqlite::Connection::open(store.path()).unwrap();
                let mut statement = connection.prepare(ALL).unwrap();
                let notes = statement.query_map([], |row| row.get(0)).unwrap();
                notes.collect::<Result<_, _>>().unwrap()
            }
            Store::Postgres(store) => {
                let rows = sqlx::query(ALL).fetch_all(store.pool()).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    fn agent(&self, model: ScriptedModel, tools: ToolSet) -> Agent {
        let agent = match self {
            Store::Sqlite(store) => Agent::new(model, store.clone()),
            Store::Postgres(store) => Agent::new(model, store.clone()),
        };
        agent.with_tools(tools)
    }
}

macro_rules! on_both {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_sqlite() {
                let file = file::File::new(concat!("once-", stringify!($name)));
                super::$name(Store::sqlite(&file).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_postgres() {
                let Some(database) = postgres::Database::new().await else { return };
                super::$name(Store::postgres(&database).await).await;
                database.remove().await;
            }
        }
    )*};
}

on_both! {
    a_result_commits_what_its_tool_did
    what_fails_in_whatever_way_is_undone
    the_effect_is_undone_if_another_process_took_the_chat
    calls_at_once_each_have_a_transaction
    what_is_kept_until_a_tool_has_returned_is_undone
}

/// Notes its word, then does what the word says.
struct Notes(Store);

#[tool(max_run_time = "300ms")]
impl Notes {
    /// Notes a word.
    async fn execute(&self, word: String, tool_call: &ToolCall) -> Fallible<String> {
        self.0.note(tool_call, &word).await?;
        self.0.note(tool_call, &format!("{word} again")).await?;
        match word.as_str() {
            "fails" => Err("it failed")?,
            "panics" => panic!("it panics"),
            "hangs" => std::future::pending().await,
            "breaks" => match &self.0 {
                Store::Sqlite(_) => {
                    let transaction = tool_call.transaction::<SqliteTransaction>().await?;
                    transaction.execute("insert into nowhere values (1)", [])?;
                }
                Store::Postgres(_) => {
                    let mut transaction = tool_call.transaction::<PostgresTransaction>().await?;
                    sqlx::query("insert into nowhere values (1)")
                        .execute(&mut **transaction)
                        .await?;
                }
            },
            "asks" => {
                tool_call.ask("Sure?", json!({})).await?;
            }
            "swallows" => {
                if let Store::Postgres(_) = &self.0 {
                    let mut transaction = tool_call.transaction::<PostgresTransaction>().await?;
                    let nowhere = sqlx::query("insert into nowhere values (1)");
                    let _ = nowhere.execute(&mut **transaction).await;
                } else {
                    let transaction = tool_call.transaction::<SqliteTransaction>().await?;
                    transaction.execute_batch("insert into strict_notes (note) values (5)")?;
                }
            }
            "mistakes" => match &self.0 {
                Store::Sqlite(_) => drop(tool_call.transaction::<PostgresTransaction>().await?),
                Store::Postgres(_) => drop(tool_call.transaction::<SqliteTransaction>().await?),
            },
            _ => {}
        }
        Ok(format!("noted {word}"))
    }
}

fn results(messages: &[Message]) -> Vec<&ToolResult> {
    let results = messages.iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    results.collect()
}

fn notes(words: &[&str]) -> ScriptedModel {
    let calls = words.iter().map(|word| ("notes", json!({ "word": word })));
    ScriptedModel::new().calls(calls.collect::<Vec<_>>())
}

async fn a_result_commits_what_its_tool_did(store: Store) {
    let agent = store.agent(notes(&["one"]).text("done"), tools![Notes(store.clone())]);
    let mut chat = agent.create().await.unwrap();
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_eq!(store.notes().await, ["one", "one again"]);
    assert_eq!(results(chat.messages())[0].text, "noted one");
    assert_eq!(
        agent.find(chat.id()).await.unwrap().messages(),
        chat.messages()
    );
}

async fn what_fails_in_whatever_way_is_undone(store: Store) {
    let words = [
        "fails", "panics", "hangs", "breaks", "mistakes", "swallows", "well",
    ];
    let agent = store.agent(notes(&words).text("done"), tools![Notes(store.clone())]);
    let mut chat = agent.create().await.unwrap();
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_eq!(store.notes().await, ["well", "well again"]);
    let outcomes: Vec<Outcome> = results(chat.messages())
        .iter()
        .map(|result| result.outcome)
        .collect();
    use Outcome::{Error, Ok, TimedOut};
    assert_eq!(outcomes, [Error, Error, TimedOut, Error, Error, Error, Ok]);
    let mistake = &results(chat.messages())[4].text;
    assert!(
        mistake.contains("the transactions of the store of this chat are no"),
        "{mistake}"
    );

    // A question undoes what came before it; once it is answered, that happens again.
    let agent = store.agent(notes(&["asks"]).text("done"), tools![Notes(store.clone())]);
    let mut chat = agent.create().await.unwrap();
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(store.notes().await.len(), 2);
    chat.answer(&turn.pending_inputs()[0], json!({}))
        .await
        .unwrap();
    assert_eq!(chat.complete().await.unwrap().text(), "done");
    assert_eq!(
        store.notes().await,
        ["asks", "asks again", "well", "well again"]
    );
}

/// Notes a word and runs until it is let go.
struct Held {
    store: Store,
    began: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

#[tool]
impl Held {
    /// Notes which attempt it is.
    async fn execute(&self, tool_call: &ToolCall) -> Fallible<&'static str> {
        let is_first = tool_call.attempt() == 1;
        if is_first {
            self.began.add_permits(1);
            self.go.acquire().await?.forget();
        }
        self.store
            .note(tool_call, &format!("attempt {}", tool_call.attempt()))
            .await?;
        Ok("noted")
    }
}

async fn the_effect_is_undone_if_another_process_took_the_chat(store: Store) {
    let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let held = || Held {
        store: store.clone(),
        began: began.clone(),
        go: go.clone(),
    };
    let dies = store.agent(ScriptedModel::new().call("held", json!({})), tools![held()]);
    let mut chat = dies.create().await.unwrap();
    let id = chat.id().to_owned();
    let runs = tokio::spawn(async move { chat.ask("go").await });
    began.acquire().await.unwrap().forget();

    // Its lease ends behind its back, as it would while its machine is stopped.
    let end = "update tool_chats set until_ms = 0";
    match &store {
        Store::Sqlite(store) => {
            let connection = rusqlite::Connection::open(store.path()).unwrap();
            connection.execute(end, []).unwrap();
        }
        Store::Postgres(store) => {
            sqlx::query(end).execute(store.pool()).await.unwrap();
        }
    }
    let agent = store.agent(ScriptedModel::new().text("done"), tools![held()]);
    let mut other = agent.find(&id).await.unwrap();
    assert_eq!(other.complete().await.unwrap().text(), "done");
    go.add_permits(1);
    let error = runs.await.unwrap().unwrap_err();
    assert!(error.store_error().is_some(), "{error}");
    assert_eq!(store.notes().await, ["attempt 2"]);
}

async fn calls_at_once_each_have_a_transaction(store: Store) {
    let words = ["a", "fails", "c", "panics", "e"];
    let agent = store
        .agent(notes(&words).text("done"), tools![Notes(store.clone())])
        .with_tool_options(ToolOptions::new().concurrency(Concurrency::Unbounded));
    let mut chat = agent.create().await.unwrap();
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    assert_eq!(
        store.notes().await,
        ["a", "a again", "c", "c again", "e", "e again"]
    );
    assert_eq!(results(chat.messages()).len(), 5);
}

struct Keeps(Store);

#[tool]
impl Keeps {
    /// Does not let go of its transaction.
    async fn execute(&self, tool_call: &ToolCall) -> Fallible<&'static str> {
        self.0.note(tool_call, "kept").await?;
        match &self.0 {
            Store::Sqlite(_) => keep(tool_call.transaction::<SqliteTransaction>().await?),
            Store::Postgres(_) => keep(tool_call.transaction::<PostgresTransaction>().await?),
        }
        Ok("it seems well")
    }
}

fn keep(transaction: impl Send + 'static) {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(transaction);
    });
}

async fn what_is_kept_until_a_tool_has_returned_is_undone(store: Store) {
    let model = ScriptedModel::new().call("keeps", json!({})).text("done");
    let agent = store.agent(model, tools![Keeps(store.clone())]);
    let mut chat = agent.create().await.unwrap();
    assert_eq!(chat.ask("go").await.unwrap().text(), "done");
    let result = results(chat.messages())[0];
    assert_eq!(result.outcome, Outcome::Error);
    assert!(
        result.text.contains("still held its transaction"),
        "{}",
        result.text
    );
    assert!(store.notes().await.is_empty());
}

struct Begins(Store);

#[tool]
impl Begins {
    /// Begins a task, whose end is noted.
    async fn execute(&self, tool_call: &ToolCall) -> Fallible<Task> {
        self.0.note(tool_call, "begun").await?;
        Ok(Task::new("it").with_poll_interval(Duration::ZERO))
    }

    async fn resume(&self, _task: Task, tool_call: &ToolCall) -> Fallible<TaskPoll<&'static str>> {
        self.0.note(tool_call, "ended").await?;
        Ok(TaskPoll::Ready("ended"))
    }
}

on_both! {
    the_end_of_a_task_is_committed_with_its_result
}

async fn the_end_of_a_task_is_committed_with_its_result(store: Store) {
    let model = ScriptedModel::new().call("begins", json!({})).text("done");
    let agent = store.agent(model, tools![Begins(store.clone())]);
    let mut chat = agent.create().await.unwrap();
    let turn = chat.ask("go").await.unwrap();
    assert_eq!(turn.pending_tasks().len(), 1);
    // A pause records no result: what was done before it is undone.
    assert!(store.notes().await.is_empty());
    let turn = chat.complete().await.unwrap();
    assert!(matches!(turn, Turn::Answer(_)), "{turn:?}");
    assert_eq!(store.notes().await, ["ended"]);
}

#[tokio::test]
async fn where_there_is_no_transaction_the_tool_is_told() {
    /// Acts.
    #[tool]
    async fn acts(tool_call: &ToolCall) -> Fallible<&'static str> {
        drop(tool_call.transaction::<SqliteTransaction>().await?);
        Ok("acted")
    }

    let model = || ScriptedModel::new().call("acts", json!({})).text("done");
    let mut chat = Agent::new(model(), MemoryChats::new())
        .with_tools(tools![Acts])
        .create()
        .await
        .unwrap();
    chat.ask("go").await.unwrap();
    let text = &results(chat.messages())[0].text;
    assert!(
        text.contains("no transactions in which a tool could act"),
        "{text}"
    );

    let mut chat = Chat::new(model()).with_tools(tools![Acts]);
    chat.ask("go").await.unwrap();
    let text = &results(chat.messages())[0].text;
    assert!(text.contains("outside a stored chat"), "{text}");
    assert!(MemoryChats::new().begin().await.is_err());
}
