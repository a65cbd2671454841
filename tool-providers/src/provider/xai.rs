//! xAI.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::chat_completions::Dialect;
use crate::protocol::responses;
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "xai",
    address: "https://api.x.ai/v1",
    path: "/v1",
    key_variables: &["XAI_API_KEY"],
    address_variables: &["XAI_BASE_URL"],
    model_variable: "XAI_MODEL",
    model: Some("grok-4"),
    complete: str::to_owned,
    api: Api::Responses(responses::Dialect::STANDARD),
    api_elsewhere: Api::ChatCompletions(DIALECT),
    auth: Auth::Bearer,
};

const DIALECT: Dialect = Dialect {
    reasoning: &["reasoning_content"],
    files: false,
    ..Dialect::STANDARD
};

/// xAI.
#[derive(Debug)]
pub struct XAi;

impl XAi {
    /// xAI, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// xAI, with the key in `XAI_API_KEY`.
    ///
    /// # Errors
    ///
    /// It is not set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}
