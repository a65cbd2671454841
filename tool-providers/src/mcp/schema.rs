//! The schema of a server's tool, in our form.

use serde_json::{Map, Value, json};
use tool_core::Schema;

const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// The schema; and what the model is to be told of it where it cannot be expressed.
pub(super) fn of(input: &Map<String, Value>) -> (Schema, Option<String>) {
    let whole = Value::Object(input.clone());
    let mut root = whole.clone();
    let mut lifted = Map::new();
    lift(&mut root, &whole, &mut lifted, 0);
    tidy(&mut root, true);
    if let (Value::Object(root), false) = (&mut root, lifted.is_empty()) {
        lifted.values_mut().for_each(|def| tidy(def, false));
        if let Value::Object(defs) = root.entry("$defs").or_insert_with(|| json!({})) {
            defs.extend(lifted);
        }
    }
    match Schema::new(root) {
        Ok(schema) => (schema, None),
        Err(error) => {
            let open = json!({ "type": "object", "additionalProperties": true });
            let schema = Schema::new(open).unwrap_or_else(|_| Schema::empty());
            let note = format!(
                "The arguments have this JSON Schema, which cannot be checked here ({error}): {whole}"
            );
            (schema, Some(note))
        }
    }
}

/// Makes definitions of what is referred to by its place. A reference that leads nowhere, or out of the
/// schema, lets anything in.
fn lift(node: &mut Value, whole: &Value, lifted: &mut Map<String, Value>, depth: usize) {
    const DEEPEST: usize = 100;
    match node {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                match place(reference) {
                    Place::Definition | Place::Root => {}
                    Place::Pointer(pointer) => {
                        let name = format!("at{}", pointer.replace(['/', '~'], "_"));
                        if let (None, true) = (lifted.get(&name), depth < DEEPEST)
                            && let Some(target) = whole.pointer(&pointer)
                        {
                            lifted.insert(name.clone(), json!({}));
                            let mut target = target.clone();
                            lift(&mut target, whole, lifted, depth + 1);
                            lifted.insert(name.clone(), target);
                        }
                        match lifted.contains_key(&name) {
                            true => {
                                map.insert("$ref".into(), format!("#/$defs/{name}").into());
                            }
                            false => {
                                map.remove("$ref");
                            }
                        }
                    }
                    Place::Elsewhere => {
                        map.remove("$ref");
                    }
                }
                if let Some(Value::String(reference)) = map.get("$ref")
                    && let Place::Definition = place(reference)
                    && !reference.starts_with("#/$defs/at_")
                    && whole.pointer(&reference[1..]).is_none()
                {
                    map.remove("$ref");
                }
            }
            map.values_mut()
                .for_each(|child| lift(child, whole, lifted, depth));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|child| lift(child, whole, lifted, depth)),
        _ => {}
    }
}

enum Place {
    Root,
    Definition,
    Pointer(String),
    Elsewhere,
}

fn place(reference: &str) -> Place {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Place::Elsewhere;
    };
    let name = pointer
        .strip_prefix("/$defs/")
        .or_else(|| pointer.strip_prefix("/definitions/"));
    match name {
        _ if pointer.is_empty() => Place::Root,
        Some(name) if !name.contains('/') => Place::Definition,
        _ if pointer.starts_with('/') => Place::Pointer(pointer.to_owned()),
        _ => Place::Elsewhere,
    }
}

/// Takes away what is no JSON Schema, and says what other readers take for granted: an object that names
/// no properties may have any.
fn tidy(node: &mut Value, is_root: bool) {
    let Value::Object(map) = node else { return };
    let is_type = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let valid = match map.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().all(is_type),
        Some(kind) => is_type(kind),
    };
    if !valid {
        map.remove("type");
    }
    if is_root {
        map.insert("type".into(), "object".into());
    }
    if map
        .get("properties")
        .is_some_and(|value| !value.is_object())
    {
        map.remove("properties");
    }
    if let Some(Value::Array(_)) = map.get("items") {
        let prefix = map.remove("items").unwrap_or_default();
        map.insert("prefixItems".into(), prefix);
    }
    let says_nothing = [
        "properties",
        "additionalProperties",
        "patternProperties",
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
    ]
    .iter()
    .all(|key| !map.contains_key(*key));
    if !is_root && says_nothing && map.get("type") == Some(&"object".into()) {
        map.insert("additionalProperties".into(), true.into());
    }
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions",
                Value::Object(children),
            ) => {
                children.values_mut().for_each(|child| tidy(child, false));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(children)) => {
                children.iter_mut().for_each(|child| tidy(child, false));
            }
            ("items" | "additionalProperties", child) => tidy(child, false),
            _ => {}
        }
    }
}
