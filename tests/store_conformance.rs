//! D2: one suite for the store in memory, in SQLite and in PostgreSQL.

#[path = "support/file.rs"]
mod file;
#[path = "support/postgres.rs"]
mod postgres;

use tool_core::store::{MemoryChats, SqliteChats, conformance};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_conforms() {
    conformance::check(MemoryChats::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_conforms() {
    let file = file::File::new("conformance");
    conformance::check(SqliteChats::open(file.path()).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_conforms() {
    let Some(database) = postgres::Database::new().await else {
        return;
    };
    conformance::check(database.chats().await).await;
    database.remove().await;
}
