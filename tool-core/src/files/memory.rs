//! Files in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{FileEntry, FileError, FileFuture, FilePath, FileStore, slice};

/// Files in memory, gone with the last clone of it. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<BTreeMap<FilePath, Bytes>>>);

impl MemoryStore {
    /// No files.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<FilePath, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, path: &FilePath, content: Bytes) -> Result<(), FileError> {
        let mut files = self.files();
        in_files(&files, path)?;
        if is_folder(&files, path) {
            return Err(FileError::not_a_file(path));
        }
        files.insert(path.clone(), content);
        Ok(())
    }

    fn get(&self, path: &FilePath) -> Result<Option<Bytes>, FileError> {
        find(&self.files(), path)
    }

    fn get_there(&self, path: &FilePath) -> Result<Bytes, FileError> {
        self.get(path)?.ok_or_else(|| FileError::not_found(path))
    }

    fn remove(&self, path: &FilePath) -> Result<(), FileError> {
        let mut files = self.files();
        find(&files, path)?;
        match files.remove(path) {
            Some(_) => Ok(()),
            None => Err(FileError::not_found(path)),
        }
    }
}

fn find(files: &BTreeMap<FilePath, Bytes>, path: &FilePath) -> Result<Option<Bytes>, FileError> {
    match files.get(path) {
        Some(content) => Ok(Some(content.clone())),
        None if is_folder(files, path) => Err(FileError::not_a_file(path)),
        None => in_files(files, path).map(|()| None),
    }
}

fn is_folder(files: &BTreeMap<FilePath, Bytes>, path: &FilePath) -> bool {
    let mut after = files.range(path.before_inside()..);
    after.next().is_some_and(|(file, _)| file.is_in(path))
}

/// Refuses a path that leads through a file.
fn in_files(files: &BTreeMap<FilePath, Bytes>, path: &FilePath) -> Result<(), FileError> {
    match path.folders().find(|folder| files.contains_key(folder)) {
        Some(file) => Err(FileError::not_a_folder(&file)),
        None => Ok(()),
    }
}

impl FileStore for MemoryStore {
    fn write<'a>(&'a self, path: &'a FilePath, content: Bytes) -> FileFuture<'a, ()> {
        Box::pin(ready(self.put(path, content)))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes> {
        Box::pin(ready(self.get_there(path)))
    }

    fn read_range<'a>(&'a self, path: &'a FilePath, range: Range<u64>) -> FileFuture<'a, Bytes> {
        let content = self.get_there(path);
        Box::pin(ready(content.map(|content| slice(&content, range))))
    }

    fn list(&self) -> FileFuture<'_, Vec<FileEntry>> {
        let files = self.files();
        let entries = files
            .iter()
            .map(|(path, content)| FileEntry::new(path.clone(), content.len() as u64));
        Box::pin(ready(Ok(entries.collect())))
    }

    fn size<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Option<u64>> {
        let content = self.get(path);
        Box::pin(ready(
            content.map(|content| content.map(|content| content.len() as u64)),
        ))
    }

    fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()> {
        Box::pin(ready(self.remove(path)))
    }
}
