//! OpenAI, and every server that calls itself by its variables.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::{chat_completions, responses};
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openai",
    address: "https://api.openai.com/v1",
    path: "/v1",
    key_variables: &["OPENAI_API_KEY"],
    address_variables: &["OPENAI_BASE_URL"],
    model_variable: "OPENAI_MODEL",
    model: Some("gpt-5-mini"),
    complete: str::to_owned,
    api: Api::Responses(responses::Dialect::OPENAI),
    api_elsewhere: Api::ChatCompletions(chat_completions::Dialect::OPENAI),
    auth: Auth::Bearer,
};

/// OpenAI: Responses at its own address, and Chat Completions, which more servers know, at another.
/// [`Provider::api`] says otherwise.
///
/// ```no_run
/// use tool_providers::OpenAi;
///
/// let model = OpenAi::from_env()?.model("gpt-5-mini");
/// # Ok::<_, tool_core::ModelError>(())
/// ```
#[derive(Debug)]
pub struct OpenAi;

impl OpenAi {
    /// OpenAI, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// OpenAI with the key in `OPENAI_API_KEY`, or the server at `OPENAI_BASE_URL`, which may need
    /// no key.
    ///
    /// # Errors
    ///
    /// Neither is set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}
