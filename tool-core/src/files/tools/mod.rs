//! The tools by which a model reads and writes the files of a chat.

mod list;
mod read;
mod search;
mod write;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, PoisonError};

use tokio::sync::{Mutex, MutexGuard};

use super::{FilePath, FileStore};
use crate::{Tool, ToolCall, ToolDefinition, ToolSet};

use list::ListFiles;
use read::ReadFile;
use search::SearchFiles;
use write::{EditFile, WriteFile};

/// Tools by which a model reads files: `list_files`, `read_file` (by lines or bytes) and
/// `search_files`; and, where allowed, `write_file` and `edit_file`.
///
/// Each gives a page of bounded length and says how to go on. A file that is there already can be
/// overwritten or edited only in a chat that has read it; that is remembered in this process, so that
/// a chat that moves to another reads again.
///
/// ```
/// use tool_core::files::{FileTools, MemoryStore};
///
/// let files = MemoryStore::new();
/// let names = |tools: FileTools| tools.tools().names().collect::<Vec<_>>().join(" ");
/// assert_eq!(names(FileTools::new(files.clone())), "list_files read_file search_files");
/// assert_eq!(
///     names(FileTools::new(files).writable()),
///     "list_files read_file search_files write_file edit_file",
/// );
/// ```
#[derive(Clone)]
pub struct FileTools {
    files: Files,
    writable: bool,
}

impl FileTools {
    /// Tools that read these files.
    pub fn new(store: impl FileStore + 'static) -> Self {
        FileTools {
            files: Files(Arc::new(Shared {
                store: Arc::new(store),
                seen: Seen::default(),
                writing: Mutex::new(()),
            })),
            writable: false,
        }
    }

    /// Lets the model write and edit them too.
    #[must_use]
    pub fn writable(self) -> Self {
        FileTools {
            writable: true,
            ..self
        }
    }

    /// The tools, for [`Chat::with_tools`](crate::Chat::with_tools).
    pub fn tools(&self) -> ToolSet {
        let files = || self.files.clone();
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(ListFiles { files: files() }),
            Arc::new(ReadFile { files: files() }),
            Arc::new(SearchFiles { files: files() }),
        ];
        if self.writable {
            tools.push(Arc::new(WriteFile { files: files() }));
            tools.push(Arc::new(EditFile { files: files() }));
        }
        ToolSet::from_tools(tools)
    }
}

impl fmt::Debug for FileTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTools")
            .field("writable", &self.writable)
            .finish_non_exhaustive()
    }
}

/// Which of the tools that read files are among these.
pub(crate) fn readers(tools: &ToolSet) -> Vec<&'static str> {
    // A tool of the user's own may have the same name.
    let ours = |name: &str| {
        let definition = tools.get(name)?.definition();
        let found = read::is_definition(definition) || search::is_definition(definition);
        found.then_some(())
    };
    let names = [read::NAME, search::NAME];
    names
        .into_iter()
        .filter(|name| ours(name).is_some())
        .collect()
}

fn has(definition: &ToolDefinition, parameter: &str) -> bool {
    let mut names = definition.schema().property_names();
    names.any(|name| name == parameter)
}

/// The files, shared by the tools over them.
#[derive(Clone)]
struct Files(Arc<Shared>);

struct Shared {
    store: Arc<dyn FileStore>,
    seen: Seen,
    writing: Mutex<()>,
}

/// Which chat has read which file.
type Seen = std::sync::Mutex<HashSet<(String, FilePath)>>;

impl Files {
    fn store(&self) -> &dyn FileStore {
        &*self.0.store
    }

    fn saw(&self, call: &ToolCall, path: &FilePath) {
        self.seen().insert((call.chat().to_owned(), path.clone()));
    }

    fn has_seen(&self, call: &ToolCall, path: &FilePath) -> bool {
        self.seen()
            .contains(&(call.chat().to_owned(), path.clone()))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashSet<(String, FilePath)>> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held from reading to writing, so that no edit is lost to another.
    async fn writing(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().await
    }
}
