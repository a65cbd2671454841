//! P5, P1: which model the environment names, and that it says so.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::HashMap;

use serde_json::json;
use support::server::{Reply, Server};
use tool_core::{Chat, Model, ModelErrorKind};
use tool_providers::{EnvModel, from_variables};

fn pick(variables: &[(&str, &str)]) -> Result<EnvModel, tool_core::ModelError> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    from_variables(|name| variables.get(name).map(|value| value.to_string()))
}

#[track_caller]
fn description(variables: &[(&str, &str)]) -> String {
    pick(variables).unwrap().to_string()
}

#[test]
fn a_key_picks_its_vendor_and_the_description_says_why() {
    assert_eq!(
        description(&[("OPENAI_API_KEY", "sk-1234567890")]),
        "`gpt-5-mini` of openai at https://api.openai.com/v1, because OPENAI_API_KEY is set"
    );
    assert_eq!(
        description(&[("MISTRAL_API_KEY", "k"), ("MISTRAL_MODEL", "large")]),
        "`large` of mistral at https://api.mistral.ai/v1, because MISTRAL_API_KEY is set"
    );
    assert_eq!(
        description(&[
            ("DEEPSEEK_API_KEY", "k"),
            ("TOOL_MODEL_NAME", "x"),
            ("DEEPSEEK_MODEL", "y")
        ]),
        "`x` of deepseek at https://api.deepseek.com, because DEEPSEEK_API_KEY is set"
    );
}

#[test]
fn the_order_is_the_documented_one_and_tool_provider_wins_over_it() {
    let keys = [
        ("XAI_API_KEY", "k"),
        ("OPENROUTER_API_KEY", "k"),
        ("OLLAMA_HOST", "box"),
    ];
    assert!(description(&keys).contains("openrouter"));
    let chosen = [keys[0], keys[1], keys[2], ("TOOL_PROVIDER", "Ollama")];
    assert!(description(&chosen).contains("ollama at http://box:11434/v1"));
    let error = pick(&[("TOOL_PROVIDER", "nobody")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("openai, anthropic, gemini, openrouter, mistral"),
        "{error}"
    );
    let error = pick(&[("TOOL_PROVIDER", "xai")]).unwrap_err();
    assert!(error.to_string().contains("XAI_API_KEY"), "{error}");
}

#[test]
fn blank_variables_are_not_set() {
    assert!(description(&[("OPENAI_API_KEY", " "), ("XAI_API_KEY", "k")]).contains("xai"));
}

#[test]
fn the_address_of_ollama_is_read_as_its_own_tools_read_it() {
    for (given, read) in [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234/v1"),
        ("http://box:80", "http://box:80/v1"),
        ("https://ollama.com", "https://ollama.com/v1"),
        (":8000", "http://127.0.0.1:8000/v1"),
        ("http://box:80/v1/", "http://box:80/v1"),
    ] {
        let text = description(&[("OLLAMA_HOST", given)]);
        assert!(text.contains(&format!("at {read},")), "{given}: {text}");
    }
}

/// What a server of one model needs is its address: no key, no name.
#[tokio::test]
async fn a_server_at_openai_base_url_needs_neither_key_nor_name() {
    let answer =
        json!({ "choices": [{ "message": { "content": "hello" }, "finish_reason": "stop" }] });
    let models = json!({ "object": "list", "data": [{ "id": "local" }, { "id": "other" }] });
    let server = Server::start([Reply::json(200, models), Reply::json(200, answer)]).await;
    let model = pick(&[("OPENAI_BASE_URL", &server.address)]).unwrap();
    assert!(
        model.description().contains("the first model listed"),
        "{model}"
    );
    Chat::new(model.clone()).ask("hi").await.map(drop).unwrap();
    assert_eq!(model.name(), "local");
    let asked = server.asked();
    assert_eq!(asked[0].line, "GET /v1/models HTTP/1.1");
    assert_eq!(asked[1].line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(asked[1].json()["model"], "local");
    assert_eq!(asked[1].header("authorization"), None);
}

#[test]
fn with_nothing_set_the_embedded_model_is_picked_or_the_error_says_what_to_set() {
    match pick(&[]) {
        Ok(model) => assert!(model.to_string().contains("embedded"), "{model}"),
        Err(error) => {
            assert_eq!(error.kind(), ModelErrorKind::Configuration);
            assert!(
                error
                    .to_string()
                    .contains("OPENAI_API_KEY, OPENAI_BASE_URL"),
                "{error}"
            );
        }
    }
}
