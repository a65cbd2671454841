//! What can go wrong with a file.

use std::error::Error as StdError;
use std::fmt;

use super::FilePath;
use crate::ToolError;

type Source = Box<dyn StdError + Send + Sync>;

/// Why a file could not be written, read, listed or deleted.
///
/// It displays in words for the model, without its source, which may name what the model should not
/// know: where a folder is on this machine.
#[derive(Debug)]
pub struct FileError {
    kind: FileErrorKind,
    text: String,
    source: Option<Source>,
}

/// The kinds of [`FileError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The path is none that a store takes.
    InvalidPath,
    /// There is no such file.
    NotFound,
    /// What is there is no file, or a file stands where the path needs a folder.
    NotAFile,
    /// The path leads over a symbolic link.
    Link,
    /// The store failed: no space, no permission, no connection.
    Store,
}

impl FileError {
    /// An error of this kind.
    pub fn new(kind: FileErrorKind, text: impl Into<String>) -> Self {
        FileError {
            kind,
            text: text.into(),
            source: None,
        }
    }

    /// There is no file at this path.
    pub fn not_found(path: &FilePath) -> Self {
        FileError::new(
            FileErrorKind::NotFound,
            format!("there is no file `{path}`"),
        )
    }

    pub(super) fn not_a_file(path: &FilePath) -> Self {
        FileError::new(
            FileErrorKind::NotAFile,
            format!("`{path}` is a folder, not a file"),
        )
    }

    pub(super) fn not_a_folder(path: &FilePath) -> Self {
        FileError::new(
            FileErrorKind::NotAFile,
            format!("`{path}` is not a folder, so that no file can be in it"),
        )
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(self, source: impl Into<Source>) -> Self {
        FileError {
            source: Some(source.into()),
            ..self
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> FileErrorKind {
        self.kind
    }

    /// Whether there is no such file.
    pub fn is_not_found(&self) -> bool {
        self.kind == FileErrorKind::NotFound
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for FileError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        ToolError::new(&error).with_source(error)
    }
}
