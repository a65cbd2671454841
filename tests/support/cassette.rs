//! Recorded traffic: where it is, and the protocol in the dialect of who recorded it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tool_providers::protocol::chat_completions::Dialect;
use tool_providers::protocol::{Protocol, responses};
use tool_providers::{Api, Compatible, DeepSeek, Mistral, Ollama, OpenAi, OpenRouter, XAi};

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

/// The recordings of a protocol, with their file names.
pub fn recordings(protocol: &str) -> Vec<(String, Value)> {
    let mut all = all_recordings();
    all.retain(|(_, recording)| recording["protocol"] == protocol);
    all
}

/// All recordings, with their file names.
pub fn all_recordings() -> Vec<(String, Value)> {
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
            found.push((
                path.file_name().unwrap().to_string_lossy().into(),
                recording,
            ));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// How the recorded provider speaks.
pub fn dialect(provider: &str) -> Dialect {
    let provider_name = provider;
    let provider = match provider {
        "openai" => OpenAi::new("key"),
        "deepseek" => DeepSeek::new("key"),
        "mistral" => Mistral::new("key"),
        "openrouter" => OpenRouter::new("key"),
        "xai" => XAi::new("key"),
        "ollama" => Ollama::local(),
        _ => Compatible::at("http://localhost/v1"),
    };
    match provider.spoken() {
        Api::ChatCompletions(dialect) => dialect.clone(),
        _ if provider_name == "openai" => Dialect::OPENAI,
        _ => Dialect::STANDARD,
    }
}

/// A recorded protocol, as the recorded provider speaks it.
pub fn protocol(name: &str, provider: &str) -> Option<Box<dyn Protocol>> {
    let api = match (name, provider) {
        ("chat_completions", _) => Api::ChatCompletions(dialect(provider)),
        ("responses", "openai") => Api::Responses(responses::Dialect::OPENAI),
        ("responses", _) => Api::responses(),
        ("messages", _) => Api::anthropic(),
        ("generate_content", _) => Api::Gemini,
        ("ollama_chat", _) => Api::Ollama,
        _ => return None,
    };
    Some(api.protocol(provider))
}
