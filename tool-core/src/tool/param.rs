//! One parameter of a tool.

use std::fmt;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Visitor, value::Error as ValueError};
use serde_json::{Map, Value};

use super::definition::{ToolDefinition, invalid};
use crate::schema::Fault;
use crate::{ToolCall, ToolError};

/// A type that a tool can take as a parameter: it has a JSON Schema and can be read from JSON.
///
/// Derive both traits: `#[derive(serde::Deserialize, schemars::JsonSchema)]`. Without those crates
/// among your dependencies use the re-exports, `tool_core::serde` and `tool_core::schemars`, with
/// `#[serde(crate = "tool_core::serde")]` and `#[schemars(crate = "tool_core::schemars")]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "derive `serde::Deserialize` and `schemars::JsonSchema` for this type",
    note = "a model sends parameters as JSON, by the JSON Schema of their types: write `#[derive(serde::Deserialize, schemars::JsonSchema)]` over the type"
)]
pub trait Parameter: Sized {
    /// Reads a value.
    #[doc(hidden)]
    fn read(value: Value) -> Result<Self, ReadError>;

    /// The value where there is none, for a type that knows one: `None` for every `Option`.
    #[doc(hidden)]
    fn missing() -> Option<Self>;

    /// The schema of the type.
    #[doc(hidden)]
    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema;
}

/// Where in a value it could not be read, and why.
#[doc(hidden)]
pub struct ReadError {
    path: String,
    text: String,
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Parameter for T {
    fn read(value: Value) -> Result<Self, ReadError> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let mut path = String::new();
            for segment in error.path() {
                use serde_path_to_error::Segment;
                match segment {
                    Segment::Seq { index } => path.push_str(&format!("/{index}")),
                    Segment::Map { key } => {
                        path.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")))
                    }
                    Segment::Enum { .. } | Segment::Unknown => {}
                }
            }
            ReadError {
                path,
                text: error.into_inner().to_string(),
            }
        })
    }

    fn missing() -> Option<Self> {
        T::deserialize(Missing).ok()
    }

    fn schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<T>()
    }
}

/// Nothing, to which only an `Option` can be read.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(serde::de::Error::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// One parameter, as generated code declares it.
pub struct Param<T> {
    name: &'static str,
    description: Option<&'static str>,
    aliases: &'static [&'static str],
    default: Option<fn() -> T>,
    default_json: Option<&'static str>,
    constraints: Option<&'static str>,
    read: fn(Value) -> Result<T, ReadError>,
    read_with: Option<fn(Value) -> Result<T, serde_json::Error>>,
    missing: fn() -> Option<T>,
    schema: fn(&mut SchemaGenerator) -> schemars::Schema,
}

impl<T> Param<T> {
    /// A required parameter of this name.
    pub const fn new(name: &'static str) -> Self
    where
        T: Parameter,
    {
        Param {
            name,
            description: None,
            aliases: &[],
            default: None,
            default_json: None,
            constraints: None,
            read: T::read,
            read_with: None,
            missing: T::missing,
            schema: T::schema,
        }
    }

    /// What the model is told of it.
    pub const fn describe(mut self, description: &'static str) -> Self {
        self.description = Some(description);
        self
    }

    /// What it is when the model leaves it out.
    pub const fn default(mut self, default: fn() -> T) -> Self {
        self.default = Some(default);
        self
    }

    /// The default as the schema shows it.
    pub const fn default_json(mut self, json: &'static str) -> Self {
        self.default_json = Some(json);
        self
    }

    /// Other names under which it is accepted.
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Members of its schema, as the text of a JSON object.
    pub const fn constrain(mut self, json: &'static str) -> Self {
        self.constraints = Some(json);
        self
    }

    /// Reads it in another way than its type does.
    pub const fn read_with(mut self, read: fn(Value) -> Result<T, serde_json::Error>) -> Self {
        self.read_with = Some(read);
        self
    }

    fn value(&self, value: Value) -> Result<T, ReadError> {
        match self.read_with {
            Some(read) => read(value).map_err(|error| ReadError {
                path: String::new(),
                text: error.to_string(),
            }),
            None => (self.read)(value),
        }
    }
}

/// A parameter of any type.
pub trait AnyParam: Sync {
    /// Its name in the schema.
    fn name(&self) -> &'static str;
    /// What the model is told of it.
    fn description(&self) -> Option<&'static str>;
    /// Other names under which it is accepted.
    fn aliases(&self) -> &'static [&'static str];
    /// The default as the schema shows it.
    fn default_json(&self) -> Option<&'static str>;
    /// Members of its schema.
    fn constraints(&self) -> Option<&'static str>;
    /// Whether the model may leave it out.
    fn is_optional(&self) -> bool;
    /// The schema of its type.
    fn schema(&self, generator: &mut SchemaGenerator) -> schemars::Schema;
}

impl<T> AnyParam for Param<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> Option<&'static str> {
        self.description
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn default_json(&self) -> Option<&'static str> {
        self.default_json
    }

    fn constraints(&self) -> Option<&'static str> {
        self.constraints
    }

    fn is_optional(&self) -> bool {
        self.default.is_some() || (self.missing)().is_some()
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> schemars::Schema {
        (self.schema)(generator)
    }
}

/// The arguments of one call, checked by the gate and taken parameter by parameter.
pub struct Reader {
    arguments: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Reader {
    /// Checks the arguments against the schema.
    pub fn new(definition: &ToolDefinition, call: &ToolCall) -> Result<Self, ToolError> {
        Ok(Reader {
            arguments: definition.check(call)?,
            faults: Vec::new(),
        })
    }

    /// Takes one. `None` is a fault that [`into_error`](Reader::into_error) reports.
    pub fn take<T>(&mut self, param: &Param<T>) -> Option<T> {
        let read = match self.arguments.shift_remove(param.name) {
            Some(value) => param.value(value),
            None => {
                let value = param
                    .default
                    .map(|default| default())
                    .or_else(|| (param.missing)());
                value.ok_or_else(|| ReadError {
                    path: String::new(),
                    text: "missing".into(),
                })
            }
        };
        read.map_err(|error| {
            self.faults.push(Fault {
                path: format!("/{}{}", param.name, error.path),
                text: error.text,
            });
        })
        .ok()
    }

    /// The end of a tool without parameters.
    pub fn finish(self) -> Result<(), ToolError> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(self.into_error()),
        }
    }

    /// All faults as one error.
    pub fn into_error(self) -> ToolError {
        invalid(&self.faults)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// What the reserved parameter `tool_call` may be: `&ToolCall`, or `Option<&ToolCall>`, which is
/// `None` outside a chat.
#[diagnostic::on_unimplemented(
    message = "`tool_call` is filled in by the runtime and cannot be a `{Self}`",
    label = "write `&ToolCall` or `Option<&ToolCall>`",
    note = "a parameter that the model fills in needs another name"
)]
pub trait Injected<'a> {
    /// The parameter for this call.
    #[doc(hidden)]
    fn inject(call: &'a ToolCall) -> Self;
}

impl<'a> Injected<'a> for &'a ToolCall {
    fn inject(call: &'a ToolCall) -> Self {
        call
    }
}

impl<'a> Injected<'a> for Option<&'a ToolCall> {
    fn inject(call: &'a ToolCall) -> Self {
        (!call.is_detached()).then_some(call)
    }
}
