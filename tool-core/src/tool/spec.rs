//! What generated code declares, in constants.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::agree::agree;
use super::definition::{AfterCrash, Spill, ToolDefinition};
use super::infer::infer;
use super::param::AnyParam;
use crate::Schema;
use crate::SchemaError;

/// All that is declared about a tool.
pub struct Spec {
    /// The name.
    pub name: &'static str,
    /// What the model is told.
    pub description: &'static str,
    /// The parameters, in order.
    pub params: &'static [&'static dyn AnyParam],
    /// Where the schema comes from.
    pub schema: SchemaSource,
    /// How the runtime treats it.
    pub attributes: Attributes,
}

/// Where a schema comes from.
pub enum SchemaSource {
    /// The parameters.
    Inferred,
    /// JSON text.
    Json(&'static str),
    /// A type, by the function of its `JsonSchema`.
    Type(fn(&mut SchemaGenerator) -> schemars::Schema),
}

/// How the runtime treats a tool.
pub struct Attributes {
    /// See [`ToolDefinition::is_deferred`].
    pub defer: bool,
    /// See [`ToolDefinition::strict`].
    pub strict: Option<bool>,
    /// See [`ToolDefinition::requires_approval`].
    pub requires_approval: bool,
    /// See [`ToolDefinition::max_run_time`].
    pub max_run_time: Option<Duration>,
    /// See [`ToolDefinition::spill_to_file`].
    pub spill_to_file: Option<Spill>,
    /// See [`ToolDefinition::after_crash`].
    pub after_crash: AfterCrash,
    /// See [`ToolDefinition::provider_options`].
    pub provider_options: &'static [ProviderOption],
    /// See [`ToolDefinition::is_blocking`].
    pub blocking: bool,
}

/// Members of a tool's declaration.
pub struct ProviderOption {
    /// The only protocol they are for.
    pub protocol: Option<&'static str>,
    /// The text of a JSON object.
    pub json: &'static str,
}

impl Attributes {
    /// Nothing said.
    pub const NONE: Attributes = Attributes {
        defer: false,
        strict: None,
        requires_approval: false,
        max_run_time: None,
        spill_to_file: None,
        after_crash: AfterCrash::Rerun,
        provider_options: &[],
        blocking: false,
    };
}

/// The schema of a type.
fn schema_of(schema: fn(&mut SchemaGenerator) -> schemars::Schema) -> Result<Schema, SchemaError> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = schema(&mut generator).to_value();
    let definitions = generator.take_definitions(true);
    if let (Value::Object(root), false) = (&mut schema, definitions.is_empty()) {
        root.insert("$defs".into(), definitions.into());
    }
    Schema::new(schema)
}

/// A definition that is made once a process, when it is first asked for.
pub struct LazyDefinition {
    spec: &'static Spec,
    definition: OnceLock<ToolDefinition>,
}

impl LazyDefinition {
    /// The definition that `spec` declares.
    pub const fn new(spec: &'static Spec) -> Self {
        LazyDefinition {
            spec,
            definition: OnceLock::new(),
        }
    }

    /// The definition.
    ///
    /// # Panics
    ///
    /// If a type's own `JsonSchema` implementation is no valid schema, or a constraint does not fit
    /// the type; what the macro sees is refused at compile time.
    pub fn get(&self) -> &ToolDefinition {
        self.definition.get_or_init(|| match define(self.spec) {
            Ok(definition) => definition,
            Err(error) => panic!(
                "the schema of the tool `{}` cannot be used: {error}",
                self.spec.name
            ),
        })
    }
}

impl fmt::Debug for LazyDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

fn define(spec: &Spec) -> Result<ToolDefinition, SchemaError> {
    let schema = match &spec.schema {
        SchemaSource::Inferred => infer(spec.params)?,
        SchemaSource::Json(text) => Schema::new(parse(text)?)?,
        SchemaSource::Type(schema) => {
            let schema = schema_of(*schema)?;
            agree(&schema, spec.params)?;
            schema
        }
    };
    let attributes = &spec.attributes;
    let mut definition = ToolDefinition::new(spec.name, spec.description, schema);
    definition.defer = attributes.defer;
    definition.strict = attributes.strict;
    definition.requires_approval = attributes.requires_approval;
    definition.max_run_time = attributes.max_run_time;
    definition.spill_to_file = attributes.spill_to_file;
    definition.after_crash = attributes.after_crash;
    definition.blocking = attributes.blocking;
    for option in attributes.provider_options {
        if let Value::Object(members) = parse(option.json)? {
            definition = definition.with_provider_options(option.protocol, members);
        }
    }
    for param in spec.params {
        definition
            .aliases
            .extend(param.aliases().iter().map(|alias| (*alias, param.name())));
    }
    Ok(definition)
}

fn parse(json: &str) -> Result<Value, SchemaError> {
    serde_json::from_str(json).map_err(|error| SchemaError::new(format!("`{json}`: {error}")))
}
