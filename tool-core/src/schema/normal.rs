//! The normal form of a schema.

mod defs;
mod node;

use serde_json::{Map, Value, json};

use self::defs::{collect_defs, extend, extended_defs, inline, lift_root};
use self::node::{Form, TYPES};
use super::SchemaError;

/// No Rust type can have this name.
const ANY_VALUE: &str = "any-value";

/// Brings the schema of a tool's arguments to its normal form.
///
/// * The root is an object; `type`, `properties`, `required` and `additionalProperties` are there.
/// * Every object with a fixed set of properties refuses others (`additionalProperties: false`),
///   unless alternatives add to them, as `#[serde(flatten)]` on an enum does.
/// * `$defs` is at the root only, holds what is recursive, or used more than once and no small scalar, and every `$ref`
///   resolves. A `$ref` that has a description of its own stands in an `anyOf`.
/// * An optional property has the type of its value; `null` is no alternative.
/// * Every node has a `type`, a `$ref` or alternatives; what may be anything is a `$ref` to
///   `#/$defs/any-value`. An `enum` is one list, with the meaning of its values in the description.
///   An array has `items`, also where they are a tuple.
/// * There is no `$schema`, `$id`, `title`, `default: null` or numeric `format`; a `format` that
///   says how many bits a number has becomes its bounds, up to 32 bits.
///
/// The order of the properties is kept. The form of a form is itself.
///
/// # Errors
///
/// The root is no object, or a `$ref` does not resolve.
pub fn normalize(schema: Value) -> Result<Value, SchemaError> {
    let Value::Object(mut root) = schema else {
        return Err(SchemaError::new(
            "the schema of a tool's arguments must be a JSON object",
        ));
    };
    let mut defs = Map::new();
    collect_defs(&mut root, &mut defs);
    let root = lift_root(root, &mut defs)?;
    match root.get("type").and_then(Value::as_str) {
        Some("object") => {}
        None if root.contains_key("properties") || root.is_empty() => {}
        _ => {
            let found = Value::Object(root);
            return Err(SchemaError::new(format!(
                "the arguments of a tool must be an object, but the schema is `{}`",
                brief(&found)
            )));
        }
    }
    let mut root = Value::Object(root);
    let unmerged = defs.clone();
    extend(&mut root, &unmerged);
    defs.values_mut().for_each(|def| extend(def, &unmerged));
    let extended = extended_defs(&root, &defs);
    let mut any_value = false;
    let mut form = Form {
        any_value: &mut any_value,
        closed: true,
    };
    form.node(&mut root);
    for (name, def) in &mut defs {
        let closed = !extended.contains(name.as_str());
        Form {
            any_value: &mut any_value,
            closed,
        }
        .node(def);
    }
    inline(&mut root, &mut defs)?;
    if any_value {
        let reference = json!({ "$ref": format!("#/$defs/{ANY_VALUE}") });
        defs.insert(
            ANY_VALUE.into(),
            json!({ "type": TYPES, "items": reference }),
        );
    }
    let mut result = empty();
    if let (Value::Object(result), Value::Object(root)) = (&mut result, root) {
        if ["anyOf", "oneOf", "allOf"]
            .iter()
            .any(|key| root.contains_key(*key))
        {
            result.shift_remove("additionalProperties");
        }
        result.extend(root);
        if !defs.is_empty() {
            result.insert("$defs".into(), Value::Object(defs));
        }
    }
    Ok(result)
}

/// The schema of an object without properties.
pub(super) fn empty() -> Value {
    json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
