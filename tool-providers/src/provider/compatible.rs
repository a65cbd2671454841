//! Any other server that speaks Chat Completions.

use super::{Api, Auth, Provider, Vendor};
use crate::protocol::chat_completions::Dialect;

static VENDOR: Vendor = Vendor {
    name: "compatible",
    address: "",
    path: "/v1",
    key_variables: &[],
    address_variables: &[],
    model_variable: "",
    model: None,
    complete: str::to_owned,
    api: Api::ChatCompletions(DIALECT),
    api_elsewhere: Api::ChatCompletions(DIALECT),
    auth: Auth::Bearer,
};

const DIALECT: Dialect = Dialect::STANDARD;

/// Any server that speaks Chat Completions: llama.cpp, vLLM, and many more.
///
/// ```
/// use tool_providers::Compatible;
///
/// let model = Compatible::at("http://localhost:8080/v1").first_model();
/// let model = Compatible::at("https://llm.example.com").key("secret").model("large");
/// ```
#[derive(Debug)]
pub struct Compatible;

impl Compatible {
    /// The server at this address. Where the address has no path, it is `/v1`.
    pub fn at(address: impl Into<String>) -> Provider {
        Provider::of(&VENDOR).base_url(address)
    }
}
