//! The same test on each store, and a tool for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tool_core::{ToolSet, tool, tools};

/// Runs a test on every store.
macro_rules! on_every_store {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn in_memory() {
                super::$name(MemoryChats::new()).await;
            }

            #[tokio::test]
            async fn in_sqlite() {
                let file = file::File::new(stringify!($name));
                super::$name(SqliteChats::open(file.path()).unwrap()).await;
            }

            #[tokio::test]
            async fn in_postgres() {
                let Some(database) = postgres::Database::new().await else { return };
                super::$name(database.chats().await).await;
                database.remove().await;
            }
        }
    )*};
}

/// A tool that waits for approval and counts what it has paid.
pub fn paying(paid: &Arc<AtomicUsize>) -> ToolSet {
    struct Pay(Arc<AtomicUsize>);

    #[tool(requires_approval)]
    impl Pay {
        /// Pays.
        async fn execute(&self, cents: usize) -> String {
            self.0.fetch_add(cents, Ordering::SeqCst);
            format!("paid {cents}")
        }
    }

    tools![Pay(paid.clone())]
}
