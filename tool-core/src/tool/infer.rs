//! Parameters to schema.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::param::AnyParam;
use crate::{Schema, SchemaError};

/// The schema of a tool with these parameters.
pub(crate) fn infer(params: &[&dyn AnyParam]) -> Result<Schema, SchemaError> {
    if params.is_empty() {
        return Ok(Schema::empty());
    }
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for param in params {
        let mut property = match param.schema(&mut generator).to_value() {
            Value::Object(property) => property,
            _ => Map::new(),
        };
        if let Some(description) = param.description() {
            property.insert("description".into(), description.into());
        }
        if let Some(default) = param.default_json() {
            property.insert("default".into(), parse(param.name(), default)?);
        }
        let defs = generator.definitions();
        if let Some(constraints) = param.constraints() {
            constrain(param.name(), &mut property, constraints, defs)?;
        }
        if !param.is_optional() {
            required.push(Value::from(param.name()));
        }
        properties.insert(param.name().into(), property.into());
    }
    let mut root = Map::new();
    root.insert("type".into(), "object".into());
    root.insert("properties".into(), properties.into());
    root.insert("required".into(), required.into());
    root.insert("$defs".into(), generator.take_definitions(true).into());
    Schema::new(root.into())
}

fn parse(name: &str, json: &str) -> Result<Value, SchemaError> {
    serde_json::from_str(json)
        .map_err(|error| SchemaError::new(format!("parameter `{name}`: `{json}`: {error}")))
}

/// Merges what `#[param(…)]` says; `length` becomes what it is called for the parameter's type.
fn constrain(
    name: &str,
    property: &mut Map<String, Value>,
    constraints: &str,
    defs: &Map<String, Value>,
) -> Result<(), SchemaError> {
    let Value::Object(constraints) = parse(name, constraints)? else {
        return Err(SchemaError::new(format!(
            "parameter `{name}`: the constraints must be an object"
        )));
    };
    let target = property
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| {
            defs.get(reference.strip_prefix("#/$defs/")?)?
                .as_object()
                .cloned()
        });
    let target = target.unwrap_or_else(|| property.clone());
    for (key, value) in constraints {
        if key != "length" {
            property.insert(key, value);
            continue;
        }
        let unit = ["string", "array", "object"]
            .into_iter()
            .find(|kind| has_type(&target, kind));
        let unit = match unit {
            Some("string") => "Length",
            Some("array") => "Items",
            Some(_) => "Properties",
            None => {
                return Err(SchemaError::new(format!(
                    "parameter `{name}`: `length` needs a string, an array or a map"
                )));
            }
        };
        for bound in ["min", "max"] {
            if let Some(value) = value.get(bound) {
                property.insert(format!("{bound}{unit}"), value.clone());
            }
        }
    }
    Ok(())
}

fn has_type(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}
