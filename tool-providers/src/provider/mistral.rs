//! Mistral.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::chat_completions::{CallIds, Dialect};
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "mistral",
    address: "https://api.mistral.ai/v1",
    path: "/v1",
    key_variables: &["MISTRAL_API_KEY"],
    address_variables: &["MISTRAL_BASE_URL"],
    model_variable: "MISTRAL_MODEL",
    model: Some("mistral-small-latest"),
    complete: str::to_owned,
    api: Api::ChatCompletions(DIALECT),
    api_elsewhere: Api::ChatCompletions(DIALECT),
    auth: Auth::Bearer,
};

const DIALECT: Dialect = Dialect {
    required: "any",
    stream_options: false,
    reasoning: &[],
    content_parts: true,
    call_ids: CallIds::NineAlphanumerics,
    files: false,
    ..Dialect::STANDARD
};

/// Mistral.
#[derive(Debug)]
pub struct Mistral;

impl Mistral {
    /// Mistral, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// Mistral, with the key in `MISTRAL_API_KEY`.
    ///
    /// # Errors
    ///
    /// It is not set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}
