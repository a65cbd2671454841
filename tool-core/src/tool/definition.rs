//! What is declared about a tool.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::Fault;
use crate::{Schema, ToolCall, ToolError};

/// What is declared about a tool: what the model is told, and how the runtime treats it.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    name: Cow<'static, str>,
    description: Cow<'static, str>,
    schema: Schema,
    pub(super) aliases: Vec<(&'static str, &'static str)>,
    pub(super) defer: bool,
    pub(super) strict: Option<bool>,
    pub(super) requires_approval: bool,
    pub(super) max_run_time: Option<Duration>,
    pub(super) spill_to_file: Option<Spill>,
    pub(super) after_crash: AfterCrash,
    pub(super) provider_options: Vec<ProviderMembers>,
    pub(super) blocking: bool,
}

/// Members of a tool's declaration, for one protocol or all.
#[derive(Clone, Debug)]
pub(super) struct ProviderMembers {
    protocol: Option<&'static str>,
    members: Map<String, Value>,
}

/// When a result is kept in a file instead of being sent whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spill {
    /// When it is longer than so many characters.
    Characters(usize),
    /// Never: it is always sent whole.
    Never,
}

impl From<usize> for Spill {
    fn from(characters: usize) -> Self {
        Spill::Characters(characters)
    }
}

/// What becomes of a call whose process died while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCrash {
    /// It runs again, with the same idempotency key, as often as [`Config::max_attempts`](crate::Config::max_attempts)
    /// says.
    #[default]
    Rerun,
    /// A person decides, told that it may have been done.
    Review,
    /// The model is told that the outcome is unknown.
    Report,
}

impl ToolDefinition {
    /// A tool of this name, with this description, whose arguments have this schema.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        schema: Schema,
    ) -> Self {
        ToolDefinition {
            name: name.into(),
            description: description.into(),
            schema,
            aliases: Vec::new(),
            defer: false,
            strict: None,
            requires_approval: false,
            max_run_time: None,
            spill_to_file: None,
            after_crash: AfterCrash::Rerun,
            provider_options: Vec::new(),
            blocking: false,
        }
    }

    /// The name the model calls.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model is told of it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The schema of its arguments.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether it stays out of the model's context until it is searched for.
    pub fn is_deferred(&self) -> bool {
        self.defer
    }

    /// Whether the provider is asked to hold the arguments to the schema; `None` leaves it to the
    /// provider's default.
    pub fn strict(&self) -> Option<bool> {
        self.strict
    }

    /// Whether its calls wait for a decision. See also [`Tool::requires_approval`](crate::Tool::requires_approval).
    pub fn requires_approval(&self) -> bool {
        self.requires_approval
    }

    /// How long a run may take.
    pub fn max_run_time(&self) -> Option<Duration> {
        self.max_run_time
    }

    /// When its results are kept in a file; `None` leaves it to the chat.
    pub fn spill_to_file(&self) -> Option<Spill> {
        self.spill_to_file
    }

    /// What becomes of a call whose process died while it ran.
    pub fn after_crash(&self) -> AfterCrash {
        self.after_crash
    }

    /// What is merged verbatim into the tool's declaration for a protocol (`chat_completions`,
    /// `responses`, `anthropic`, `gemini`, `mcp`).
    pub fn provider_options(&self, protocol: &str) -> impl Iterator<Item = (&String, &Value)> {
        let fits =
            move |options: &&ProviderMembers| options.protocol.is_none_or(|only| only == protocol);
        self.provider_options
            .iter()
            .filter(fits)
            .flat_map(|options| &options.members)
    }

    /// Whether it blocks its thread, so that the runtime moves it off the async ones.
    pub fn is_blocking(&self) -> bool {
        self.blocking
    }

    /// Gives the tool another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<Cow<'static, str>>) -> Self {
        ToolDefinition {
            name: name.into(),
            ..self
        }
    }

    /// Defers the tool, or offers it from the start.
    #[must_use]
    pub fn with_deferral(self, defer: bool) -> Self {
        ToolDefinition { defer, ..self }
    }

    /// Defers the tool.
    #[must_use]
    pub fn deferred(self) -> Self {
        self.with_deferral(true)
    }

    /// Makes every call wait for a decision.
    #[must_use]
    pub fn approval_required(self) -> Self {
        ToolDefinition {
            requires_approval: true,
            ..self
        }
    }

    /// Limits how long a run may take.
    #[must_use]
    pub fn with_max_run_time(self, limit: Duration) -> Self {
        ToolDefinition {
            max_run_time: Some(limit),
            ..self
        }
    }

    /// Says when results are kept in a file.
    #[must_use]
    pub fn with_spill_to_file(self, spill: Spill) -> Self {
        ToolDefinition {
            spill_to_file: Some(spill),
            ..self
        }
    }

    /// Says what becomes of a call whose process died while it ran.
    #[must_use]
    pub fn with_after_crash(self, after_crash: AfterCrash) -> Self {
        ToolDefinition {
            after_crash,
            ..self
        }
    }

    /// Asks the provider to hold the arguments to the schema, or not to.
    #[must_use]
    pub fn with_strict(self, strict: bool) -> Self {
        ToolDefinition {
            strict: Some(strict),
            ..self
        }
    }

    /// Adds members that are merged verbatim into the tool's declaration, for one protocol or all.
    #[must_use]
    pub fn with_provider_options(
        mut self,
        protocol: Option<&'static str>,
        options: Map<String, Value>,
    ) -> Self {
        self.provider_options.push(ProviderMembers {
            protocol,
            members: options,
        });
        self
    }

    /// Says that the tool blocks its thread.
    #[must_use]
    pub fn with_blocking(self) -> Self {
        ToolDefinition {
            blocking: true,
            ..self
        }
    }

    /// Checks the arguments of a call against the schema, and gives them with what was repaired:
    /// see [`FunctionTool`](crate::FunctionTool) for what that is.
    ///
    /// # Errors
    ///
    /// All that is wrong with them, in words the model can act on.
    pub fn check(&self, call: &ToolCall) -> Result<Map<String, Value>, ToolError> {
        self.schema
            .gate()
            .admit(call.arguments.json(), &self.aliases)
            .map_err(|faults| invalid(&faults))
    }
}

pub(super) fn invalid(faults: &[Fault]) -> ToolError {
    let mut text = String::from("Invalid tool arguments: ");
    for (position, fault) in faults.iter().enumerate() {
        if position > 0 {
            text.push_str("; ");
        }
        if !fault.path.is_empty() {
            text.push_str(&fault.path);
            text.push_str(": ");
        }
        text.push_str(&fault.text);
    }
    ToolError::invalid_arguments(text)
}
