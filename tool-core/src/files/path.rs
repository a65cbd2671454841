//! Where a file is: names that cannot lead out of a store.

use std::fmt;
use std::str::FromStr;

use super::{FileError, FileErrorKind};

/// Longest path, in bytes.
const LONGEST_PATH: usize = 1_000;

/// Longest name of a file or folder, in bytes. Every common file system takes it.
const LONGEST_NAME: usize = 200;

/// What the names of a store's own files begin with.
pub(super) const OWN: &str = ".~";

/// Names that Windows keeps for devices, with any extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];

/// The path of a file in a [`FileStore`](super::FileStore): names with `/` between them, as in
/// `results/3-0-report.txt`.
///
/// It is the same file on every system, and always one inside the store. Refused are paths that are
/// empty, absolute or overlong, and in any part of them `.`, `..`, backslashes, control characters,
/// the characters `: * ? " < > |`, a dot or space at the end, the names of Windows' devices, and a
/// `.~` at the start, which is for the stores themselves.
///
/// ```
/// use tool_core::files::FilePath;
///
/// assert!("notes/today.md".parse::<FilePath>().is_ok());
/// assert!("../secrets".parse::<FilePath>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

impl FilePath {
    /// Checks a path.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](FileErrorKind::InvalidPath), which says what is wrong with it.
    pub fn new(path: impl Into<String>) -> Result<Self, FileError> {
        let path = path.into();
        match fault(&path) {
            None => Ok(FilePath(path)),
            Some(fault) => {
                let shown: String = path.chars().take(80).collect();
                let text = format!("{shown:?} is no path of a file here: {fault}");
                Err(FileError::new(FileErrorKind::InvalidPath, text))
            }
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its names: those of the folders, then that of the file.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether the file is in this folder, or in one below it.
    pub fn is_in(&self, folder: &FilePath) -> bool {
        let rest = self.0.strip_prefix(&folder.0);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// What sorts before all that is in this folder, and after all that is not and sorts before.
    pub(super) fn before_inside(&self) -> FilePath {
        FilePath(format!("{}/", self.0))
    }

    /// The folders it is in, the outermost first.
    pub(super) fn folders(&self) -> impl Iterator<Item = FilePath> {
        let ends = self.0.match_indices('/');
        ends.map(|(end, _)| FilePath(self.0[..end].to_owned()))
    }
}

fn fault(path: &str) -> Option<String> {
    if path.is_empty() {
        return Some("it is empty".into());
    }
    if path.len() > LONGEST_PATH {
        return Some(format!("it is longer than {LONGEST_PATH} bytes"));
    }
    if path.starts_with('/') {
        return Some("it must be relative; leave out the `/` at its start".into());
    }
    path.split('/').find_map(name_fault)
}

fn name_fault(name: &str) -> Option<String> {
    let refused = |character: char| {
        character.is_control()
            || matches!(character, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
    };
    let fault = match name {
        "" => "there is an empty name in it".into(),
        "." | ".." => format!("`{name}` is not allowed"),
        _ if name.len() > LONGEST_NAME => {
            format!("a name in it is longer than {LONGEST_NAME} bytes")
        }
        _ if name.ends_with(['.', ' ']) => format!("`{name}` ends with a dot or a space"),
        _ if name.starts_with(OWN) => format!("`{OWN}` cannot begin a name"),
        _ if is_device(name) => format!("`{name}` is the name of a device on Windows"),
        _ => {
            let character = name.chars().find(|character| refused(*character))?;
            format!("the character {character:?} is not allowed; folders are separated by `/`")
        }
    };
    Some(fault)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let stem = stem.to_lowercase();
    let port = ["com", "lpt"]
        .iter()
        .find_map(|port| stem.strip_prefix(port));
    let numbered = port.is_some_and(|number| {
        let mut number = number.chars();
        number
            .next()
            .is_some_and(|digit| matches!(digit, '0'..='9' | '¹' | '²' | '³'))
            && number.next().is_none()
    });
    numbered || DEVICES.contains(&stem.as_str())
}

impl FromStr for FilePath {
    type Err = FileError;

    fn from_str(path: &str) -> Result<Self, FileError> {
        FilePath::new(path)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
