//! The model that the environment names.

use std::fmt;
use std::sync::Arc;

use tool_core::model::{DeltaSink, Model, ModelFuture, Request};
use tool_core::{ModelError, ModelErrorKind};

use crate::provider::{Provider, VENDORS, Vendor};

/// The variable that names a model, whoever serves it.
const MODEL: &str = "TOOL_MODEL_NAME";

/// The variable of a vendor that wins over the order.
const PROVIDER: &str = "TOOL_PROVIDER";

/// A variable of this process.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The model that the environment names.
///
/// The first of these whose address or key is set serves it; `TOOL_PROVIDER` names another.
///
/// | provider | address | key | model |
/// | --- | --- | --- | --- |
/// | `openai`, or any server that speaks its protocol | `OPENAI_BASE_URL` | `OPENAI_API_KEY` | `OPENAI_MODEL` |
/// | `anthropic` | `ANTHROPIC_BASE_URL` | `ANTHROPIC_API_KEY` | `ANTHROPIC_MODEL` |
/// | `gemini` | `GEMINI_BASE_URL` | `GEMINI_API_KEY` or `GOOGLE_API_KEY` | `GEMINI_MODEL` |
/// | `openrouter` | `OPENROUTER_BASE_URL` | `OPENROUTER_API_KEY` | `OPENROUTER_MODEL` |
/// | `mistral` | `MISTRAL_BASE_URL` | `MISTRAL_API_KEY` | `MISTRAL_MODEL` |
/// | `deepseek` | `DEEPSEEK_BASE_URL` | `DEEPSEEK_API_KEY` | `DEEPSEEK_MODEL` |
/// | `xai` | `XAI_BASE_URL` | `XAI_API_KEY` | `XAI_MODEL` |
/// | `ollama` | `OLLAMA_BASE_URL` or `OLLAMA_HOST` | | `OLLAMA_MODEL` |
/// | `embedded`, with the feature of that name | | | |
///
/// `TOOL_MODEL_NAME` names the model, else the variable of the table does, else it is one that the
/// vendor is known to have; of a server at an address of yours, and of Ollama, it is the first that the
/// server lists.
///
/// # Errors
///
/// Nothing is set, and the embedded model is not built in; or `TOOL_PROVIDER` names none of these.
pub fn from_env() -> Result<EnvModel, ModelError> {
    from_variables(variable)
}

/// As [`from_env`], with the variables from elsewhere.
///
/// # Errors
///
/// As [`from_env`].
pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<EnvModel, ModelError> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(name) = set(PROVIDER) {
        let name = name.trim().to_lowercase();
        if name == "embedded" {
            return embedded(PROVIDER).unwrap_or_else(|| Err(nothing_set()));
        }
        let vendor = VENDORS.iter().find(|vendor| vendor.name == name);
        let vendor = vendor.ok_or_else(|| {
            let names: Vec<&str> = VENDORS.iter().map(|vendor| vendor.name).collect();
            configuration(format!(
                "{PROVIDER} is `{name}`, but the providers are: {}, embedded",
                names.join(", ")
            ))
        })?;
        return remote(vendor, &set, PROVIDER);
    }
    let named = VENDORS
        .iter()
        .find_map(|vendor| Some((*vendor, vendor.is_set(&set)?)));
    match named {
        Some((vendor, because)) => remote(vendor, &set, because),
        None => embedded("no key or address of another").unwrap_or_else(|| Err(nothing_set())),
    }
}

fn remote(
    vendor: &'static Vendor,
    set: &dyn Fn(&str) -> Option<String>,
    because: &str,
) -> Result<EnvModel, ModelError> {
    let provider = Provider::from_variables(vendor, set)?;
    let has_address = vendor
        .address_variables
        .iter()
        .any(|name| set(name).is_some());
    let name = set(MODEL)
        .or_else(|| set(vendor.model_variable))
        .or_else(|| {
            let known = vendor.model.filter(|_| !has_address);
            known.map(str::to_owned)
        });
    let place = provider.location();
    let (model, name) = match name {
        Some(name) => (provider.model(name.trim()), format!("`{}`", name.trim())),
        None => (provider.first_model(), "the first model listed".into()),
    };
    Ok(EnvModel {
        model: Arc::new(model),
        description: format!(
            "{name} of {} at {place}, because {because} is set",
            vendor.name
        ),
    })
}

/// The model in this process, where it is built in.
#[cfg(feature = "embedded")]
fn embedded(because: &str) -> Option<Result<EnvModel, ModelError>> {
    Some(Ok(EnvModel {
        model: Arc::new(crate::embedded::Embedded::new()),
        description: format!("the embedded model, because {because} is set"),
    }))
}

#[cfg(not(feature = "embedded"))]
fn embedded(_because: &str) -> Option<Result<EnvModel, ModelError>> {
    None
}

fn nothing_set() -> ModelError {
    let variables: Vec<&str> = VENDORS
        .iter()
        .flat_map(|vendor| {
            vendor
                .key_variables
                .first()
                .into_iter()
                .chain(vendor.address_variables.first())
        })
        .copied()
        .collect();
    configuration(format!(
        "no model is set up: set one of {}, or build with the feature `embedded`",
        variables.join(", ")
    ))
}

fn configuration(text: String) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, text)
}

/// The model that the environment names; it says which that is.
#[derive(Clone)]
pub struct EnvModel {
    model: Arc<dyn Model>,
    description: String,
}

impl EnvModel {
    /// Which model it is, who serves it, and what made it the one.
    pub fn description(&self) -> &str {
        &self.description
    }
}

impl fmt::Display for EnvModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl fmt::Debug for EnvModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnvModel").field(&self.description).finish()
    }
}

impl Model for EnvModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn generate<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut DeltaSink<'_>,
    ) -> ModelFuture<'a> {
        self.model.generate(request, sink)
    }
}
