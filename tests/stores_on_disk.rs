//! D1, D2, D4: databases that are full, read-only, broken, or of a later version; and every form that was ever
//! stored.
#![allow(clippy::unwrap_used)]

#[path = "support/file.rs"]
mod file;
#[path = "support/postgres.rs"]
mod postgres;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sqlx::AssertSqlSafe;
use tool_core::store::{ChatStore, Next, PostgresChats, Sent, SqliteChats, StoreErrorKind};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Agent, Attachment, ChatErrorKind, Message, Outcome, Task, TaskPoll, ToolCall, ToolError,
    ToolSet, Turn, UserMessage, tool, tools,
};

/// Runs SQL on a database behind the back of its store.
async fn run_sqlite(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

async fn run_postgres(address: &str, sql: &str) {
    let pool = sqlx::PgPool::connect(address).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
}

async fn chats_of_a_later_version_are_left_alone(store: Arc<dyn ChatStore>) {
    let later = StoreErrorKind::NewerFormat;
    assert_eq!(store.load("later", 0).await.unwrap_err().kind(), later);
    assert_eq!(
        store
            .claim("later", "me", Duration::from_secs(9))
            .await
            .unwrap_err()
            .kind(),
        later
    );
    store.send("later", Sent::new(json!(1))).await.unwrap();
    let ready = store
        .claim_ready("", "me", Duration::from_secs(9), 10)
        .await
        .unwrap();
    assert!(ready.is_empty(), "{ready:?}");
    let agent = Agent::new(ScriptedModel::new(), store);
    let error = agent.find("later").await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Store);
    assert_eq!(
        error.to_string(),
        "the store failed: the chat `later` was stored by a later version: use that"
    );
}

const LATER_CHAT: &str = "insert into tool_chats (id, format) values ('later', 99)";
const LATER_DATABASE: &str = "insert into tool_migrations (number) values (99)";

#[tokio::test]
async fn what_a_later_version_stored_is_left_alone_in_sqlite() {
    let file = file::File::new("later");
    let store = SqliteChats::open(file.path()).unwrap();
    run_sqlite(file.path(), LATER_CHAT).await;
    chats_of_a_later_version_are_left_alone(Arc::new(store)).await;
    run_sqlite(file.path(), LATER_DATABASE).await;
    let error = SqliteChats::open(file.path()).err().unwrap();
    assert_eq!(error.kind(), StoreErrorKind::NewerFormat);
    assert!(error.to_string().contains("use a later version"), "{error}");
}

#[tokio::test]
async fn what_a_later_version_stored_is_left_alone_in_postgres() {
    let Some(database) = postgres::Database::new().await else {
        return;
    };
    let pool = sqlx::PgPool::connect(&database.address()).await.unwrap();
    let error = PostgresChats::with_pool(pool.clone()).await.err().unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(
        error.to_string().contains("PostgresChats::migrate"),
        "{error}"
    );

    // By hand, as one who runs migrations oneself.
    run_postgres(
        &database.address(),
        "create table tool_migrations (number bigint primary key)",
    )
    .await;
    for (index, step) in PostgresChats::MIGRATIONS.iter().enumerate() {
        let done = format!("{step}; insert into tool_migrations values ({})", index + 1);
        run_postgres(&database.address(), &done).await;
    }
    let store = PostgresChats::with_pool(pool.clone()).await.unwrap();
    PostgresChats::migrate(&pool).await.unwrap();
    run_postgres(&database.address(), LATER_CHAT).await;
    chats_of_a_later_version_are_left_alone(Arc::new(store)).await;
    run_postgres(&database.address(), LATER_DATABASE).await;
    let later = StoreErrorKind::NewerFormat;
    assert_eq!(
        PostgresChats::with_pool(pool.clone())
            .await
            .err()
            .unwrap()
            .kind(),
        later
    );
    assert_eq!(
        PostgresChats::migrate(&pool).await.unwrap_err().kind(),
        later
    );
    pool.close().await;
    database.remove().await;
}

#[tokio::test]
async fn processes_can_migrate_at_once() {
    let file = file::File::new("at-once");
    let path = file.path();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8)
            .map(|_| scope.spawn(move || SqliteChats::open(path).map(drop)))
            .collect();
        for opened in opening {
            opened.join().unwrap().unwrap();
        }
    });
    let Some(database) = postgres::Database::new().await else {
        return;
    };
    let mut connecting = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let address = database.address();
        connecting.spawn(async move { PostgresChats::connect(&address).await.map(drop) });
    }
    for connected in connecting.join_all().await {
        connected.unwrap();
    }
    database.remove().await;
}

#[tokio::test]
async fn what_is_no_database_is_said_to_be_none() {
    let file = file::File::new("garbage");
    std::fs::write(
        file.path(),
        "this is a text, and no database at all. ".repeat(50),
    )
    .unwrap();
    let error = SqliteChats::open(file.path()).err().unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
    let nowhere = std::env::temp_dir().join("tool-no-such-folder/chats.db");
    let error = SqliteChats::open(&nowhere).err().unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.to_string().contains("tool-no-such-folder"), "{error}");
    let error = PostgresChats::connect("postgres://nobody@127.0.0.1:1/none").await;
    assert_eq!(error.err().unwrap().kind(), StoreErrorKind::Unavailable);
}

#[tokio::test]
async fn what_is_damaged_is_said_to_be_and_other_chats_work() {
    let file = file::File::new("damaged");
    let store = SqliteChats::open(file.path()).unwrap();
    let agent = Agent::new(ScriptedModel::new().text("hello"), store.clone());
    agent.create_as("damaged").await.unwrap();
    let mut well = agent.create_as("well").await.unwrap();
    let damage =
        "insert into tool_messages (chat, number, body) values ('damaged', 0, '{\"role\":')";
    run_sqlite(file.path(), damage).await;
    let error = agent.find("damaged").await.unwrap_err();
    assert_eq!(error.store_error().unwrap().kind(), StoreErrorKind::Corrupt);
    assert!(
        error.to_string().contains("`damaged` cannot be read"),
        "{error}"
    );
    // Valid JSON that is no message.
    run_sqlite(file.path(), "update tool_messages set body = '[7]'").await;
    let error = agent.find("damaged").await.unwrap_err();
    assert_eq!(error.store_error().unwrap().kind(), StoreErrorKind::Corrupt);
    assert_eq!(well.ask("hi").await.unwrap().text(), "hello");
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_full_and_nothing_is_half_recorded() {
    let folder = std::env::temp_dir().join(format!("tool-full-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&folder)
        .output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        eprintln!("skipped: a small disk can be mounted only as root");
        return;
    }
    let store = SqliteChats::open(folder.join("chats.db")).unwrap();
    let agent = Agent::new(
        ScriptedModel::new().text("hello").text("again"),
        store.clone(),
    )
    .with_lease(Duration::from_millis(100));
    let mut chat = agent.create().await.unwrap();
    chat.ask("hi").await.unwrap();
    std::fs::write(folder.join("filler"), vec![0; 4_000_000]).unwrap_err();
    let error = chat.ask("x".repeat(300_000)).await.unwrap_err();
    assert_eq!(
        error.store_error().unwrap().kind(),
        StoreErrorKind::Full,
        "{error}"
    );
    assert_eq!(agent.find(chat.id()).await.unwrap().messages().len(), 2);
    std::fs::remove_file(folder.join("filler")).unwrap();
    assert_eq!(chat.ask("x".repeat(300_000)).await.unwrap().text(), "again");
    drop((agent, chat, store));
    for _ in 0..500 {
        // The threads of the database close it a little later.
        if Command::new("umount")
            .arg(&folder)
            .output()
            .unwrap()
            .status
            .success()
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_database_that_is_read_only_is_said_to_be() {
    let Some(database) = postgres::Database::new().await else {
        return;
    };
    drop(database.chats().await);
    let name = database.address().rsplit_once('/').unwrap().1.to_owned();
    let sql = format!("alter database {name} set default_transaction_read_only = on");
    run_postgres(&database.address(), &sql).await;
    let pool = sqlx::PgPool::connect(&database.address()).await.unwrap();
    let store = PostgresChats::with_pool(pool).await.unwrap();
    let error = store.create("chat", "").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
    database.remove().await;
}

#[tokio::test]
async fn a_result_of_many_megabytes_is_kept() {
    let big = "é".repeat(20_000_000);
    let body = json!({ "text": big });
    let file = file::File::new("big");
    let mut stores: Vec<Arc<dyn ChatStore>> =
        vec![Arc::new(SqliteChats::open(file.path()).unwrap())];
    let database = postgres::Database::new().await;
    if let Some(database) = &database {
        stores.push(Arc::new(database.chats().await));
    }
    for store in stores {
        store.create("chat", "").await.unwrap();
        store.send("chat", Sent::new(body.clone())).await.unwrap();
        assert_eq!(store.load("chat", 0).await.unwrap().inbox[0].1.body, body);
    }
    if let Some(database) = database {
        database.remove().await;
    }
}

#[tokio::test]
async fn ids_that_a_database_cannot_hold_are_refused() {
    let Some(database) = postgres::Database::new().await else {
        return;
    };
    let store = database.chats().await;
    let error = store.create("a\0b", "").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    drop(store);
    database.remove().await;
}

// What is stored in each version.

/// Where what was stored in each form is kept; the forms are numbered by the last migration.
const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stored");

/// The form that stores have now.
fn last_form() -> usize {
    PostgresChats::MIGRATIONS.len()
}

struct Pay;

#[tool(requires_approval)]
impl Pay {
    /// Pays.
    async fn execute(&self, cents: u32) -> String {
        format!("paid {cents}")
    }
}

struct Size;

#[tool]
impl Size {
    /// Asks for a size.
    async fn execute(&self, tool_call: &ToolCall) -> Result<String, ToolError> {
        let answer = tool_call
            .ask(
                "Which size?",
                json!({ "size": { "type": "integer", "required": true } }),
            )
            .await?;
        Ok(format!("size {}", answer.value().unwrap()["size"]))
    }
}

struct Export;

#[tool]
impl Export {
    /// Begins an export.
    async fn execute(&self) -> Task {
        Task::new(json!({ "job": 7 })).with_poll_interval(Duration::from_millis(5))
    }

    async fn resume(&self, task: Task) -> TaskPoll<String> {
        TaskPoll::Ready(format!("exported {}", task.data["job"]))
    }
}

#[tool]
/// Looks.
fn look() -> &'static str {
    "looked"
}

fn every_tool() -> ToolSet {
    tools![Pay, Size, Export, Look]
}

fn every_call() -> ScriptedModel {
    ScriptedModel::new().call("look", json!({})).calls([
        ("look", json!({})),
        ("pay", json!({ "cents": 5 })),
        ("pay", json!({ "cents": 6 })),
        ("size", json!({})),
        ("export", json!({})),
    ])
}

/// Makes a chat in which there is one of everything.
async fn make_all(store: impl ChatStore + Clone + 'static) {
    let agent = Agent::new(every_call(), store.clone()).with_tools(every_tool());
    let mut chat = agent.create_as("all").await.unwrap();
    let image = Attachment::from_bytes("image/png", &[1, 2, 3]);
    let turn = chat
        .ask(UserMessage::from("begin").with_attachment(image))
        .await
        .unwrap();
    assert!(matches!(turn, Turn::Paused(_)), "{turn:?}");
    let pending = chat.pending_approvals();
    chat.approve_with(&pending[1], json!({ "cents": 66 }))
        .await
        .unwrap();
    chat.ask_later("and then?").await.unwrap();
}

/// Brings the chat to its end.
async fn finish_all(store: Arc<dyn ChatStore>) {
    let model = ScriptedModel::new().text("one").text("two");
    let agent = Agent::new(model, store.clone()).with_tools(every_tool());
    let mut chat = agent.find("all").await.unwrap();
    let Message::User(first) = &chat.messages()[0] else {
        panic!("{:?}", chat.messages())
    };
    assert_eq!((first.text.as_str(), first.attachments.len()), ("begin", 1));
    let pending = chat.pending_approvals();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].idempotency_key(), "all-3-1");
    chat.deny_with_reason(&pending[0], "too little")
        .await
        .unwrap();
    let inputs = chat.pending_inputs();
    chat.answer(&inputs[0], json!({ "size": 9 })).await.unwrap();
    assert_eq!(chat.pending_tasks()[0].1.data, json!({ "job": 7 }));
    assert_eq!(chat.complete().await.unwrap().text(), "two");
    let results = chat.messages()[4..9].iter().map(|message| match message {
        Message::Tool(result) => (result.outcome, result.text.as_str()),
        other => panic!("{other:?}"),
    });
    let results: Vec<_> = results.collect();
    assert_eq!(results[0], (Outcome::Ok, "looked"));
    assert_eq!(results[1].0, Outcome::Denied);
    assert!(results[1].1.contains("too little"));
    assert_eq!(results[2].0, Outcome::Ok);
    assert!(results[2].1.starts_with("paid 66\n\n(A person changed"));
    assert_eq!(results[3], (Outcome::Ok, "size 9"));
    assert_eq!(results[4], (Outcome::Ok, "exported 7"));
    let lease = store
        .claim("all", "me", Duration::from_secs(9))
        .await
        .unwrap()
        .unwrap();
    store.release(&lease, Next::Sent, 0).await.unwrap();
}

/// The database as SQL: how its tables were made, and what is in them.
fn dump(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    let made = "select sql || ';' from sqlite_master where sql is not null order by rowid";
    let mut sql: Vec<String> = connection
        .prepare(made)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    sql.push(rows(&connection));
    sql.join("\n")
}

/// What is in the tables, as SQL for either database.
fn rows(connection: &rusqlite::Connection) -> String {
    let done = |number| format!("insert into tool_migrations (number) values ({number});");
    let mut sql: Vec<String> = (1..=last_form()).map(done).collect();
    for (table, columns) in [
        (
            "tool_chats",
            "id, format, messages, token, seen, last_sent, agent",
        ),
        ("tool_messages", "chat, number, body"),
        ("tool_calls", "chat, place, body"),
        ("tool_inbox", "chat, number, once_key, body, taken"),
    ] {
        let quoted = columns.split(", ").map(|column| match column {
            // Of this both databases make what they mean by it.
            "taken" => "quote(cast(taken as text))".to_owned(),
            column => format!("quote({column})"),
        });
        let quoted = quoted.collect::<Vec<_>>().join(" || ', ' || ");
        let mut statement = connection
            .prepare(&format!("select {quoted} from {table}"))
            .unwrap();
        let values = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        for values in values {
            sql.push(format!(
                "insert into {table} ({columns}) values ({});",
                values.unwrap()
            ));
        }
    }
    sql.join("\n") + "\n"
}

/// `cargo test --test stores_on_disk -- --ignored` writes what is stored in the last form, once for every form.
#[tokio::test]
#[ignore = "writes a fixture"]
async fn write_the_fixture() {
    let file = file::File::new("fixture");
    make_all(SqliteChats::open(file.path()).unwrap()).await;
    let folder = format!("{STORED}/{}", last_form());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(format!("{folder}/sqlite.sql"), dump(file.path())).unwrap();
    let connection = rusqlite::Connection::open(file.path()).unwrap();
    let tables = "create table tool_migrations (number bigint primary key);";
    let sql = format!(
        "{tables}\n{}\n{}",
        PostgresChats::MIGRATIONS.concat(),
        rows(&connection)
    );
    std::fs::write(format!("{folder}/postgres.sql"), sql).unwrap();
}

#[tokio::test]
async fn what_was_stored_in_every_form_is_read_and_goes_on_in_sqlite() {
    for form in 1..=last_form() {
        let file = file::File::new(&format!("form-{form}"));
        let sql = std::fs::read_to_string(format!("{STORED}/{form}/sqlite.sql")).unwrap();
        run_sqlite(file.path(), &sql).await;
        finish_all(Arc::new(SqliteChats::open(file.path()).unwrap())).await;
    }
}

#[tokio::test]
async fn what_was_stored_in_every_form_is_read_and_goes_on_in_postgres() {
    for form in 1..=last_form() {
        let Some(database) = postgres::Database::new().await else {
            return;
        };
        let sql = std::fs::read_to_string(format!("{STORED}/{form}/postgres.sql")).unwrap();
        run_postgres(&database.address(), &sql).await;
        finish_all(Arc::new(database.chats().await)).await;
        database.remove().await;
    }
}
