//! OpenRouter.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::chat_completions::Dialect;
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openrouter",
    address: "https://openrouter.ai/api/v1",
    path: "/api/v1",
    key_variables: &["OPENROUTER_API_KEY"],
    address_variables: &["OPENROUTER_BASE_URL"],
    model_variable: "OPENROUTER_MODEL",
    model: Some("openrouter/auto"),
    complete: str::to_owned,
    api: Api::ChatCompletions(DIALECT),
    api_elsewhere: Api::ChatCompletions(DIALECT),
    auth: Auth::Bearer,
};

const DIALECT: Dialect = Dialect {
    reasoning: &["reasoning_details", "reasoning"],
    ..Dialect::STANDARD
};

/// OpenRouter.
#[derive(Debug)]
pub struct OpenRouter;

impl OpenRouter {
    /// OpenRouter, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// OpenRouter, with the key in `OPENROUTER_API_KEY`.
    ///
    /// # Errors
    ///
    /// It is not set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}
