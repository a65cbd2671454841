//! Gemini.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "gemini",
    address: "https://generativelanguage.googleapis.com/v1beta",
    path: "/v1beta",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    address_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    model_variable: "GEMINI_MODEL",
    model: Some("gemini-2.5-flash"),
    complete: str::to_owned,
    api: Api::Gemini,
    api_elsewhere: Api::Gemini,
    auth: Auth::Header("x-goog-api-key"),
};

/// Google's Gemini API.
///
/// ```no_run
/// use tool_providers::Gemini;
///
/// let model = Gemini::from_env()?.model("gemini-2.5-flash");
/// # Ok::<_, tool_core::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Gemini;

impl Gemini {
    /// Gemini, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// Gemini with the key in `GEMINI_API_KEY` or `GOOGLE_API_KEY`, or the server at `GEMINI_BASE_URL`,
    /// which may need no key.
    ///
    /// # Errors
    ///
    /// None of them is set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}
