//! Databases of a PostgreSQL server, at `TOOL_POSTGRES_URL`. `scripts/test` starts one.

use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tool_core::store::PostgresChats;

/// A database that nobody else uses, until it is dropped.
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// `None`: there is no server.
    pub async fn new() -> Option<Self> {
        let Ok(server) = std::env::var("TOOL_POSTGRES_URL") else {
            eprintln!("skipped: set TOOL_POSTGRES_URL to the address of a PostgreSQL server");
            return None;
        };
        Some(Database::on(server).await)
    }

    /// A database of this server.
    pub async fn on(server: String) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let name = format!("tool_test_{}_{number}", std::process::id());
        run(&server, format!("drop database if exists {name}")).await;
        run(&server, format!("create database {name}")).await;
        Database { server, name }
    }

    /// Its address.
    pub fn address(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    /// Chats in it.
    pub async fn chats(&self) -> PostgresChats {
        PostgresChats::connect(&self.address()).await.unwrap()
    }

    /// Removes it, with all its connections.
    pub async fn remove(self) {
        run(
            &self.server,
            format!("drop database {} with (force)", self.name),
        )
        .await;
    }
}

async fn run(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection)
        .await
        .unwrap();
}
