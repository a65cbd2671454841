//! Files in a folder of this machine.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use super::path::OWN;
use super::{FileEntry, FileError, FileErrorKind, FileFuture, FilePath, FileStore};

/// How often a write begins again because its folder was emptied and removed meanwhile.
const ATTEMPTS: usize = 20;

/// Files in a folder of this machine, and in folders below it.
///
/// Symbolic links below the folder are neither followed nor listed, so that nothing outside is read
/// or written, not even through a link that something else put there. (Who may change the folder
/// while it is used can still swap a folder for a link between the check and the use.) Files are
/// written under another name first, then renamed. Clones share the folder, and so can several
/// processes.
#[derive(Clone, Debug)]
pub struct DirectoryStore {
    root: Arc<Path>,
}

impl DirectoryStore {
    /// The files in this folder, which is created if it is not there.
    ///
    /// # Errors
    ///
    /// [`Store`](FileErrorKind::Store): the folder cannot be created or found.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, FileError> {
        let root = root.as_ref();
        let found = fs::create_dir_all(root).and_then(|()| root.canonicalize());
        let root = found.map_err(|error| {
            FileError::new(
                FileErrorKind::Store,
                format!("the folder of the files cannot be used: {}", error.kind()),
            )
            .with_source(error)
        })?;
        Ok(DirectoryStore { root: root.into() })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Does `work` with this path on a thread that may block.
    fn off_thread<'a, T: Send + 'static>(
        &'a self,
        path: &'a FilePath,
        work: impl FnOnce(&Folder, &FilePath) -> Result<T, FileError> + Send + 'static,
    ) -> FileFuture<'a, T> {
        let (folder, path) = (Folder(self.root.clone()), path.clone());
        Box::pin(blocking(move || work(&folder, &path)))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            let text = "the work on the file was stopped";
            Err(FileError::new(FileErrorKind::Store, text).with_source(error))
        })
}

impl FileStore for DirectoryStore {
    fn write<'a>(&'a self, path: &'a FilePath, content: Bytes) -> FileFuture<'a, ()> {
        self.off_thread(path, move |folder, path| folder.write(path, &content))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes> {
        self.off_thread(path, |folder, path| folder.read(path, 0..u64::MAX))
    }

    fn read_range<'a>(&'a self, path: &'a FilePath, range: Range<u64>) -> FileFuture<'a, Bytes> {
        self.off_thread(path, |folder, path| folder.read(path, range))
    }

    fn list(&self) -> FileFuture<'_, Vec<FileEntry>> {
        let folder = Folder(self.root.clone());
        Box::pin(blocking(move || {
            let mut entries = Vec::new();
            folder
                .collect(&folder.0, "", &mut entries)
                .map_err(|error| failed("listing the files", error))?;
            entries.sort();
            Ok(entries)
        }))
    }

    fn size<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Option<u64>> {
        self.off_thread(path, |folder, path| match folder.find(path) {
            Ok((_, metadata)) => Ok(Some(metadata.len())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()> {
        self.off_thread(path, |folder, path| folder.delete(path))
    }
}

/// The same folder, on a thread that may block.
struct Folder(Arc<Path>);

impl Folder {
    /// Where a file is, with what is known of it. The way leads over no link.
    fn find(&self, path: &FilePath) -> Result<(PathBuf, Metadata), FileError> {
        for folder in path.folders() {
            let (_, metadata) = self.look(&folder, path)?;
            if !metadata.is_dir() {
                return Err(FileError::not_a_folder(&folder));
            }
        }
        let (place, metadata) = self.look(path, path)?;
        match metadata.is_file() {
            true => Ok((place, metadata)),
            false => Err(FileError::not_a_file(path)),
        }
    }

    /// What is at `part` of `path`, unless that is a link.
    fn look(&self, part: &FilePath, path: &FilePath) -> Result<(PathBuf, Metadata), FileError> {
        let place = self.place(part);
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => Err(FileError::new(
                FileErrorKind::Link,
                format!("`{part}` is a symbolic link, which is not followed"),
            )),
            Ok(metadata) => Ok((place, metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(FileError::not_found(path)),
            Err(error) => Err(failed(&format!("finding `{path}`"), error)),
        }
    }

    fn place(&self, path: &FilePath) -> PathBuf {
        path.names()
            .fold(self.0.to_path_buf(), |place, name| place.join(name))
    }

    fn read(&self, path: &FilePath, range: Range<u64>) -> Result<Bytes, FileError> {
        let (place, metadata) = self.find(path)?;
        let end = range.end.min(metadata.len());
        let read = || {
            if range.start >= end {
                return Ok(Bytes::new());
            }
            let mut file = File::open(place)?;
            file.seek(SeekFrom::Start(range.start))?;
            let mut content = Vec::new();
            file.take(end - range.start).read_to_end(&mut content)?;
            Ok(content.into())
        };
        read().map_err(|error| failed(&format!("reading `{path}`"), error))
    }

    fn write(&self, path: &FilePath, content: &[u8]) -> Result<(), FileError> {
        let mut attempt = 1;
        loop {
            match self.try_write(path, content) {
                Err(error) if error.is_not_found() && attempt < ATTEMPTS => attempt += 1,
                Err(error) if error.is_not_found() => {
                    let text = format!("writing `{path}` failed: its folder is gone");
                    return Err(FileError::new(FileErrorKind::Store, text).with_source(error));
                }
                result => return result,
            }
        }
    }

    fn try_write(&self, path: &FilePath, content: &[u8]) -> Result<(), FileError> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => FileError::not_found(path).with_source(error),
            _ => failed(&format!("writing `{path}`"), error),
        };
        let mut folder = self.0.to_path_buf();
        for part in path.folders() {
            folder = self.place(&part);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => {}
            }
            if !self.look(&part, path)?.1.is_dir() {
                return Err(FileError::not_a_folder(&part));
            }
        }
        match self.look(path, path) {
            Ok((_, metadata)) if !metadata.is_file() => return Err(FileError::not_a_file(path)),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        replace(&folder, &self.place(path), content).map_err(failed)
    }

    fn delete(&self, path: &FilePath) -> Result<(), FileError> {
        let (place, _) = self.find(path)?;
        fs::remove_file(place).map_err(|error| failed(&format!("deleting `{path}`"), error))?;
        let folders: Vec<FilePath> = path.folders().collect();
        for folder in folders.iter().rev() {
            // Fails where something is left in it, which is how it stops.
            if fs::remove_dir(self.place(folder)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Adds the files of a folder. What has a name that no path can have is left out.
    fn collect(&self, folder: &Path, prefix: &str, into: &mut Vec<FileEntry>) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound && !prefix.is_empty() => {
                return Ok(());
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Ok(path) = FilePath::new(format!("{prefix}{name}")) else {
                continue;
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.collect(&entry.path(), &format!("{path}/"), into)?;
            } else if kind.is_file()
                && let Ok(metadata) = entry.metadata()
            {
                into.push(FileEntry::new(path, metadata.len()));
            }
        }
        Ok(())
    }
}

/// Writes a file of another name beside the place, then gives it its own.
fn replace(folder: &Path, place: &Path, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let beside = folder.join(format!("{OWN}{}-{now}-{count}", process::id()));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(&beside)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, place));
    if written.is_err() {
        let _left_behind = fs::remove_file(&beside);
    }
    written
}

fn failed(what: &str, error: io::Error) -> FileError {
    let text = format!("{what} failed: {}", error.kind());
    FileError::new(FileErrorKind::Store, text).with_source(error)
}
