//! Schemas in the subset that Ollama passes on to a model.

use serde_json::{Map, Value, json};

use super::super::schema::note;

/// Keywords that Ollama passes on, for every property. All others it drops.
const KEPT: [&str; 3] = ["type", "description", "required"];

/// Keywords that tell a model nothing.
const DROPPED: [&str; 9] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "title",
    "deprecated",
    "readOnly",
    "additionalProperties",
];

/// How deep definitions are put in place of references to them, in a schema that refers to itself.
const DEPTH: usize = 3;

/// A tool's schema as Ollama passes it on: references are replaced by what they refer to, and what has
/// no keyword there is said in the description. Our own gate checks all of it.
pub fn parameters(schema: &Value) -> Value {
    lower(schema, schema, &mut Vec::new())
}

fn lower<'s>(root: &'s Value, schema: &'s Value, inside: &mut Vec<&'s str>) -> Value {
    let Value::Object(members) = schema else {
        return json!({});
    };
    let mut lowered = Map::new();
    let mut notes = Vec::new();
    for (key, value) in members {
        match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                let seen = inside.iter().filter(|known| *known == reference).count();
                let target = root.pointer(reference.trim_start_matches('#'));
                let target = target.filter(|_| seen < DEPTH && inside.len() < 4 * DEPTH);
                inside.push(reference);
                if let Some(Value::Object(inner)) = target.map(|target| lower(root, target, inside))
                {
                    for (key, value) in inner {
                        lowered.entry(key).or_insert(value);
                    }
                }
                inside.pop();
            }
            ("properties", Value::Object(properties)) => {
                let properties: Map<String, Value> = properties
                    .iter()
                    .map(|(name, inner)| (name.clone(), lower(root, inner, inside)))
                    .collect();
                lowered.insert(key.clone(), properties.into());
            }
            ("items", inner) => {
                lowered.insert(key.clone(), lower(root, inner, inside));
            }
            ("allOf", Value::Array(branches)) => {
                for branch in branches {
                    if let Value::Object(inner) = lower(root, branch, inside) {
                        for (key, value) in inner {
                            lowered.entry(key).or_insert(value);
                        }
                    }
                }
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                let branches: Vec<Value> = branches
                    .iter()
                    .map(|branch| lower(root, branch, inside))
                    .collect();
                lowered.insert("anyOf".into(), branches.into());
            }
            ("enum", Value::Array(values)) => {
                lowered.insert("enum".into(), json!(values));
            }
            ("const", value) => {
                lowered.insert("enum".into(), json!([value]));
            }
            (key, value) if KEPT.contains(&key) => {
                lowered.insert(key.into(), value.clone());
            }
            (key, _) if DROPPED.contains(&key) => {}
            (key, value) => notes.push(format!("{key}: {value}")),
        }
    }
    if !notes.is_empty() {
        note(&mut lowered, &notes.join("; "));
    }
    Value::Object(lowered)
}
