//! The files of a chat: where results are kept that are too long to send, and what a model reads
//! and writes with [`FileTools`].
//!
//! | to | see |
//! | --- | --- |
//! | keep files in memory or in a folder | [`MemoryStore`], [`DirectoryStore`] |
//! | keep them elsewhere | [`FileStore`], [`FileError`] |
//! | let the model read them | [`FileTools`] |
//! | keep long results there | [`Chat::with_file_store`](crate::Chat::with_file_store) |

mod directory;
mod error;
mod memory;
mod path;
mod tools;

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

pub use directory::DirectoryStore;
pub use error::{FileError, FileErrorKind};
pub use memory::MemoryStore;
pub use path::FilePath;
pub use tools::FileTools;
pub(crate) use tools::readers;

/// What a [`FileStore`] gives.
pub type FileFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, FileError>> + Send + 'a>>;

/// Where the files of a chat are.
///
/// A store has files, not folders: `a/b.txt` can be written without anything else, and while it is
/// there `a` cannot be. All methods may be called at the same time from several tasks.
pub trait FileStore: Send + Sync {
    /// Writes a file whole, in place of the one that is there. Who reads meanwhile sees the old
    /// content or the new one, never a part, and neither is damaged when it fails.
    ///
    /// # Errors
    ///
    /// [`NotAFile`](FileErrorKind::NotAFile), [`Link`](FileErrorKind::Link) or
    /// [`Store`](FileErrorKind::Store).
    fn write<'a>(&'a self, path: &'a FilePath, content: Bytes) -> FileFuture<'a, ()>;

    /// Reads a file whole.
    ///
    /// # Errors
    ///
    /// Those of writing, and [`NotFound`](FileErrorKind::NotFound).
    fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes>;

    /// Reads those of the bytes that are there: fewer at the end of the file, none beyond it.
    ///
    /// # Errors
    ///
    /// As [`read`](FileStore::read).
    fn read_range<'a>(&'a self, path: &'a FilePath, range: Range<u64>) -> FileFuture<'a, Bytes> {
        Box::pin(async move { Ok(slice(&self.read(path).await?, range)) })
    }

    /// All files, sorted by path.
    ///
    /// # Errors
    ///
    /// [`Store`](FileErrorKind::Store).
    fn list(&self) -> FileFuture<'_, Vec<FileEntry>>;

    /// How many bytes a file has; `None` if it is not there.
    ///
    /// # Errors
    ///
    /// As [`read`](FileStore::read), but for the missing file.
    fn size<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Option<u64>>;

    /// Deletes a file.
    ///
    /// # Errors
    ///
    /// As [`read`](FileStore::read).
    fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()>;
}

/// A file in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FileEntry {
    /// Where it is.
    pub path: FilePath,
    /// How many bytes it has.
    pub size: u64,
}

impl FileEntry {
    /// A file of this size.
    pub fn new(path: FilePath, size: u64) -> Self {
        FileEntry { path, size }
    }
}

impl<S: FileStore + ?Sized> FileStore for Arc<S> {
    fn write<'a>(&'a self, path: &'a FilePath, content: Bytes) -> FileFuture<'a, ()> {
        (**self).write(path, content)
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes> {
        (**self).read(path)
    }

    fn read_range<'a>(&'a self, path: &'a FilePath, range: Range<u64>) -> FileFuture<'a, Bytes> {
        (**self).read_range(path, range)
    }

    fn list(&self) -> FileFuture<'_, Vec<FileEntry>> {
        (**self).list()
    }

    fn size<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Option<u64>> {
        (**self).size(path)
    }

    fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()> {
        (**self).delete(path)
    }
}

fn slice(content: &Bytes, range: Range<u64>) -> Bytes {
    let within = |at: u64| usize::try_from(at).map_or(content.len(), |at| at.min(content.len()));
    let (start, end) = (within(range.start), within(range.end));
    content.slice(start..end.max(start))
}
