//! The schema of a type against the parameters that it is to describe.

use serde_json::Value;

use super::infer::infer;
use super::param::AnyParam;
use crate::{Schema, SchemaError};

/// Checks that what a schema lets in can be read by the parameters. What the macro sees of a literal,
/// only the built schema shows of a type.
pub(super) fn agree(schema: &Schema, params: &[&dyn AnyParam]) -> Result<(), SchemaError> {
    let inferred = infer(params)?;
    let (given, own) = (schema.as_value(), inferred.as_value());
    for name in schema.property_names() {
        if own["properties"].get(name).is_none() {
            return Err(SchemaError::new(format!(
                "it has the property `{name}`, and no parameter is called that"
            )));
        }
    }
    for (param, name) in params.iter().zip(inferred.property_names()) {
        let Some(property) = given["properties"].get(name) else {
            return Err(SchemaError::new(format!(
                "it has no property `{name}`, as the parameter is called"
            )));
        };
        if !requires(given, name) && !param.is_optional() {
            return Err(SchemaError::new(format!(
                "the property `{name}` may be left out, but the parameter has no default: make it an `Option`"
            )));
        }
        let wanted = &own["properties"][name];
        if let (Some(given), Some(wanted)) = (kind(property), kind(wanted))
            && given != wanted
            && (given, wanted) != ("integer", "number")
        {
            return Err(SchemaError::new(format!(
                "the property `{name}` is of type `{given}`, but the parameter of type `{wanted}`"
            )));
        }
    }
    Ok(())
}

fn requires(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

/// The type of a node that says exactly one.
fn kind(node: &Value) -> Option<&str> {
    node.get("type")?.as_str()
}
