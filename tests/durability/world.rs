//! What all processes of these tests share: the store, the model, the tools, and how it should have ended.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::params;
use serde_json::json;
use sqlx::Row;
use tool_core::model::{DeltaSink, ModelFuture, Request};
use tool_core::store::{
    ChatStore, PostgresChats, PostgresTransaction, SqliteChats, SqliteTransaction,
};
use tool_core::{
    Agent, AssistantMessage, Block, FinishReason, Message, Model, Outcome, StoredChat, ToolCall,
    tool, tools,
};

use super::chat::assert_paired;

/// Calls each of these tools in turn, then answers.
pub struct Calls(pub &'static [&'static str]);

impl Model for Calls {
    fn name(&self) -> &str {
        "calls"
    }

    fn provider(&self) -> &str {
        "test"
    }

    fn generate<'a>(&'a self, request: Request<'a>, _: &'a mut DeltaSink<'_>) -> ModelFuture<'a> {
        Box::pin(async move {
            let messages = request.transcript.messages();
            let results = messages
                .iter()
                .filter(|message| matches!(message, Message::Tool(_)));
            let Some(name) = self.0.get(results.count()) else {
                return Ok(AssistantMessage::from_text("done"));
            };
            Ok(AssistantMessage {
                blocks: vec![Block::ToolCall(ToolCall::new("call_0", *name, json!({})))],
                finish: FinishReason::ToolCalls,
                ..AssistantMessage::default()
            })
        })
    }
}

/// A folder with a log, and where the chats are.
#[derive(Clone)]
pub struct World {
    pub folder: PathBuf,
    /// The address of a PostgreSQL database; `None`: a SQLite file in the folder.
    pub postgres: Option<String>,
}

impl World {
    pub fn new(name: &str, postgres: Option<String>) -> Self {
        let folder = format!("tool-durability-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        World { folder, postgres }
    }

    pub fn sqlite(&self) -> PathBuf {
        self.folder.join("chats.db")
    }

    /// The store, and in its database the table in which `transfers` acts.
    pub async fn store(&self) -> Arc<dyn ChatStore> {
        const TABLE: &str =
            "create table if not exists effects (call text not null, attempt bigint not null)";
        match &self.postgres {
            Some(address) => {
                let store = PostgresChats::connect(address).await.unwrap();
                // Two processes at once: the table is there afterwards.
                let _ = sqlx::raw_sql(TABLE).execute(store.pool()).await;
                Arc::new(store)
            }
            None => {
                let store = SqliteChats::open(self.sqlite()).unwrap();
                let connection = rusqlite::Connection::open(self.sqlite()).unwrap();
                connection.busy_timeout(Duration::from_secs(30)).unwrap();
                connection.execute_batch(TABLE).unwrap();
                Arc::new(store)
            }
        }
    }

    pub fn agent(&self, store: impl ChatStore + 'static, model: Calls) -> Agent {
        let log = Log(self.folder.join("log"));
        let is_postgres = self.postgres.is_some();
        Agent::new(model, store).with_tools(tools![
            Guarded(log.clone()),
            Transfers { log, is_postgres },
            super::every_operation::Asks,
            super::every_operation::Waits,
            super::stopped::Hangs(self.folder.clone()),
        ])
    }

    /// The effects that are committed, by call.
    pub async fn effects(&self) -> HashMap<String, usize> {
        const ALL: &str = "select call from effects";
        let calls: Vec<String> = match &self.postgres {
            Some(address) => {
                let pool = sqlx::PgPool::connect(address).await.unwrap();
                let rows = sqlx::query(ALL).fetch_all(&pool).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
            None => {
                let connection = rusqlite::Connection::open(self.sqlite()).unwrap();
                let mut statement = connection.prepare(ALL).unwrap();
                let calls = statement.query_map([], |row| row.get(0)).unwrap();
                calls.collect::<Result<_, _>>().unwrap()
            }
        };
        let mut counts = HashMap::new();
        for call in calls {
            *counts.entry(call).or_default() += 1;
        }
        counts
    }

    /// The runs of calls that were logged: the call and which attempt it was.
    pub fn runs(&self) -> Vec<(String, u32)> {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let runs = log.lines().map(|line| {
            let (call, attempt) = line.split_once(' ').unwrap();
            (call.to_owned(), attempt.parse().unwrap())
        });
        runs.collect()
    }

    /// Checks what must hold of chats that are done; how many runs there were beyond one for each call.
    pub async fn check(&self, chats: &[StoredChat]) -> usize {
        let mut transfers = HashSet::new();
        let mut calls = HashSet::new();
        for chat in chats {
            assert_paired(chat.messages());
            assert_eq!(chat.messages().last().map(text), Some("done".to_owned()));
            let mut last = None;
            for message in chat.messages() {
                if let Message::Tool(result) = message
                    && result.name == "transfers"
                {
                    // Where the database was away, the model was told so, and nothing was done.
                    transfers.extend(last.take().filter(|_| result.outcome == Outcome::Ok));
                }
                let Message::Assistant(answer) = message else {
                    continue;
                };
                for call in answer.tool_calls() {
                    last = Some(call.idempotency_key().to_owned());
                    if ["guarded", "transfers"].contains(&call.name.as_str()) {
                        calls.insert(call.idempotency_key().to_owned());
                    }
                }
            }
        }
        let effects = self.effects().await;
        let expected: HashMap<_, _> = transfers.into_iter().map(|call| (call, 1)).collect();
        assert_eq!(
            effects, expected,
            "what is done in the transaction is done exactly once"
        );

        let runs = self.runs();
        let logged: HashSet<&String> = runs.iter().map(|(call, _)| call).collect();
        assert_eq!(logged.len(), calls.len(), "each call ran");
        assert!(calls.iter().all(|call| logged.contains(call)));
        let distinct: HashSet<&(String, u32)> = runs.iter().collect();
        assert_eq!(distinct.len(), runs.len(), "no attempt ran twice: {runs:?}");
        runs.len() - logged.len()
    }
}

fn text(message: &Message) -> String {
    match message {
        Message::Assistant(answer) => answer.text(),
        other => format!("{other:?}"),
    }
}

/// Where each run of a tool leaves a line before it returns: the effect.
#[derive(Clone)]
pub struct Log(PathBuf);

impl Log {
    fn add(&self, call: &ToolCall) {
        append(
            &self.0,
            &format!("{} {}\n", call.idempotency_key(), call.attempt()),
        );
    }
}

pub fn append(path: &Path, line: &str) {
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    file.unwrap().write_all(line.as_bytes()).unwrap();
}

struct Guarded(Log);

#[tool(requires_approval)]
impl Guarded {
    /// Acts once it is approved.
    async fn execute(&self, tool_call: &ToolCall) -> &'static str {
        tokio::time::sleep(Duration::from_millis(3)).await;
        self.0.add(tool_call);
        tokio::time::sleep(Duration::from_millis(3)).await;
        "acted"
    }
}

struct Transfers {
    log: Log,
    is_postgres: bool,
}

#[tool]
impl Transfers {
    /// Acts in the database of the chats.
    async fn execute(
        &self,
        tool_call: &ToolCall,
    ) -> Result<&'static str, Box<dyn std::error::Error + Send + Sync>> {
        self.log.add(tool_call);
        let (key, attempt) = (tool_call.idempotency_key(), tool_call.attempt());
        if self.is_postgres {
            let mut transaction = tool_call.transaction::<PostgresTransaction>().await?;
            sqlx::query("insert into effects (call, attempt) values ($1, $2)")
                .bind(key)
                .bind(i64::from(attempt))
                .execute(&mut **transaction)
                .await?;
        } else {
            let transaction = tool_call.transaction::<SqliteTransaction>().await?;
            transaction.execute(
                "insert into effects (call, attempt) values (?1, ?2)",
                params![key, attempt],
            )?;
        }
        Ok("transferred")
    }
}
