//! Ollama.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::chat_completions::Dialect;

const PORT: u16 = 11434;

pub(super) static VENDOR: Vendor = Vendor {
    name: "ollama",
    address: "http://127.0.0.1:11434/v1",
    path: "/v1",
    key_variables: &[],
    address_variables: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
    model_variable: "OLLAMA_MODEL",
    model: None,
    complete,
    api: Api::ChatCompletions(DIALECT),
    api_elsewhere: Api::ChatCompletions(DIALECT),
    auth: Auth::Bearer,
};

const DIALECT: Dialect = Dialect {
    reasoning: &["reasoning"],
    tool_choice: false,
    parallel_tool_calls: false,
    strict: false,
    files: false,
    plain_schemas: true,
    ..Dialect::STANDARD
};

/// Ollama by its own protocol.
static NATIVE: Vendor = Vendor {
    address: "http://127.0.0.1:11434/api",
    path: "/api",
    api: Api::Ollama,
    api_elsewhere: Api::Ollama,
    ..VENDOR
};

/// Ollama, on this machine unless it is said otherwise. Its cloud wants a key: see
/// [`Provider::key`].
///
/// It does not know `tool_choice`: a required tool is left to the model, and a certain one is
/// chosen by showing the model no other.
#[derive(Debug)]
pub struct Ollama;

impl Ollama {
    /// Ollama at its usual address.
    pub fn local() -> Provider {
        Provider::of(&VENDOR)
    }

    /// Ollama at its usual address, by its own protocol instead of its copy of Chat Completions. It can
    /// be told more: `RequestOptions::extra("options", …)` sets the length of the context, `num_ctx`,
    /// which is short unless it is set, and `extra("think", …)` whether to think.
    pub fn native() -> Provider {
        Provider::of(&NATIVE)
    }

    /// Ollama at `OLLAMA_BASE_URL` or `OLLAMA_HOST`, else at its usual address.
    ///
    /// # Errors
    ///
    /// None so far.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}

/// What `OLLAMA_HOST` may leave out, and the address to which a server that listens on all is asked.
pub(super) fn complete(address: &str) -> String {
    let address = address.trim();
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, format!(":{port}")),
        _ if address.contains("://") => (authority, String::new()),
        _ => (authority, format!(":{PORT}")),
    };
    let host = match host {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        host => host,
    };
    format!("{scheme}://{host}{port}{path}")
}
