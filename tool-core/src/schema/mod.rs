//! The JSON Schema of a tool's arguments.

mod gate;
mod json;
mod normal;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use gate::{Fault, Gate};
pub(crate) use json::parse_unique;
pub use normal::normalize;

/// The JSON Schema of a tool's arguments, in its [normal form](normalize).
///
/// Cloning shares it. The bytes of [`as_json`](Schema::as_json) are the same in every process.
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    value: Value,
    json: Bytes,
    gate: Gate,
}

impl Schema {
    /// Brings a schema to its normal form.
    ///
    /// # Errors
    ///
    /// The arguments of a tool are an object: a schema of anything else is refused, as is one with
    /// a `$ref` that does not resolve. A `pattern` that `regex-lite` cannot read stays in the schema, and
    /// is not checked.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        let value = normalize(schema)?;
        let gate = Gate::new(&value)?;
        let json = Bytes::from(value.to_string());
        Ok(Schema(Arc::new(Inner { value, json, gate })))
    }

    /// The schema of an empty object: a tool without parameters.
    pub fn empty() -> Self {
        let value = normal::empty();
        let json = Bytes::from(value.to_string());
        Schema(Arc::new(Inner {
            value,
            json,
            gate: Gate::anything(),
        }))
    }

    /// The schema as a JSON value.
    pub fn as_value(&self) -> &Value {
        &self.0.value
    }

    /// The schema as JSON text.
    pub fn as_json(&self) -> &Bytes {
        &self.0.json
    }

    /// The names of the properties, in order.
    pub fn property_names(&self) -> impl Iterator<Item = &str> {
        self.0.value["properties"]
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.0.gate
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.0.json == other.0.json
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.value)
    }
}

/// Why a JSON value cannot be the schema of a tool's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    text: String,
}

impl SchemaError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        SchemaError { text: text.into() }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SchemaError {}
