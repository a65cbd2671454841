//! DeepSeek.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::chat_completions::Dialect;
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "deepseek",
    address: "https://api.deepseek.com",
    path: "",
    key_variables: &["DEEPSEEK_API_KEY"],
    address_variables: &["DEEPSEEK_BASE_URL"],
    model_variable: "DEEPSEEK_MODEL",
    model: Some("deepseek-chat"),
    complete: str::to_owned,
    api: Api::ChatCompletions(DIALECT),
    api_elsewhere: Api::ChatCompletions(DIALECT),
    auth: Auth::Bearer,
};

const DIALECT: Dialect = Dialect {
    reasoning: &["reasoning_content"],
    // In thinking mode a message without it is refused.
    reasoning_always: true,
    parallel_tool_calls: false,
    strict: false,
    images: false,
    files: false,
    ..Dialect::STANDARD
};

/// DeepSeek.
#[derive(Debug)]
pub struct DeepSeek;

impl DeepSeek {
    /// DeepSeek, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// DeepSeek, with the key in `DEEPSEEK_API_KEY`.
    ///
    /// # Errors
    ///
    /// It is not set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}
