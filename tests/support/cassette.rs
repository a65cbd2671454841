//! Recorded traffic: where it is, and the protocol in the dialect of who recorded it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tool_providers::protocol::chat_completions::Dialect;
use tool_providers::{Compatible, DeepSeek, Mistral, Ollama, OpenAi, OpenRouter, XAi};

/// The folder that `TOOL_CASSETTES` names, else `../shared/cassettes`.
pub fn folder() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = match std::env::var_os("TOOL_CASSETTES") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![root.join("../shared/cassettes")],
    };
    let found = places.into_iter().find(|place| place.is_dir());
    if found.is_none() {
        eprintln!("skipped: no recorded traffic; set TOOL_CASSETTES to a folder of it");
    }
    found
}

/// All recordings of a protocol, with their file names.
pub fn recordings(protocol: &str) -> Vec<(String, Value)> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let mut found: Vec<(String, Value)> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let text = std::fs::read(&path).unwrap();
            let recording: Value = serde_json::from_slice(&text).unwrap();
            if recording["protocol"] == protocol {
                found.push((
                    path.file_name().unwrap().to_string_lossy().into(),
                    recording,
                ));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// How the recorded provider speaks.
pub fn dialect(provider: &str) -> Dialect {
    let provider = match provider {
        "openai" => OpenAi::new("key"),
        "deepseek" => DeepSeek::new("key"),
        "mistral" => Mistral::new("key"),
        "openrouter" => OpenRouter::new("key"),
        "xai" => XAi::new("key"),
        "ollama" => Ollama::local(),
        _ => Compatible::at("http://localhost/v1"),
    };
    provider.dialect().clone()
}
