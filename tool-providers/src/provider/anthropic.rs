//! Anthropic.

use tool_core::ModelError;

use super::{Api, Auth, Provider, Vendor};
use crate::env;
use crate::protocol::anthropic::Dialect;
use crate::secret::Secret;

pub(super) static VENDOR: Vendor = Vendor {
    name: "anthropic",
    address: "https://api.anthropic.com/v1",
    path: "/v1",
    key_variables: &["ANTHROPIC_API_KEY"],
    address_variables: &["ANTHROPIC_BASE_URL"],
    model_variable: "ANTHROPIC_MODEL",
    model: Some("claude-sonnet-4-5"),
    complete,
    api: Api::Anthropic(Dialect::STANDARD),
    api_elsewhere: Api::Anthropic(Dialect::STANDARD),
    auth: Auth::Header("x-api-key"),
};

/// Anthropic, and every server that speaks its Messages.
///
/// ```no_run
/// use tool_providers::Anthropic;
///
/// let model = Anthropic::from_env()?.model("claude-sonnet-4-5");
/// # Ok::<_, tool_core::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Anthropic;

impl Anthropic {
    /// Anthropic, with this key.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(key: impl Into<Secret>) -> Provider {
        Provider::of(&VENDOR).key(key)
    }

    /// Anthropic with the key in `ANTHROPIC_API_KEY`, or the server at `ANTHROPIC_BASE_URL`, which may
    /// need no key.
    ///
    /// # Errors
    ///
    /// Neither is set.
    pub fn from_env() -> Result<Provider, ModelError> {
        Provider::from_variables(&VENDOR, &env::variable)
    }
}

/// Anthropic's own tools add the version to an address.
fn complete(address: &str) -> String {
    let (rest, query) = match address.trim().split_once('?') {
        Some((rest, query)) => (rest, format!("?{query}")),
        None => (address.trim(), String::new()),
    };
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix("/messages").unwrap_or(rest);
    match rest.ends_with("/v1") {
        true => format!("{rest}{query}"),
        false => format!("{rest}/v1{query}"),
    }
}
