//! A database in a file that is gone afterwards.

use std::path::{Path, PathBuf};

/// Its path, and that of what SQLite puts beside it.
pub struct File(PathBuf);

impl File {
    /// A file of this name and process.
    pub fn new(name: &str) -> Self {
        let name = format!("tool-chats-{name}-{}.db", std::process::id());
        File(std::env::temp_dir().join(name))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}
