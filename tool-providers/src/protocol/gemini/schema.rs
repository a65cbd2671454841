//! Schemas in the subset of `parametersJsonSchema`.

use serde_json::{Map, Number, Value, json};

/// Keywords that Gemini refuses or that tell it nothing.
const DROPPED: [&str; 10] = [
    "$schema",
    "$id",
    "title",
    "examples",
    "discriminator",
    "additionalProperties",
    "propertyNames",
    "patternProperties",
    "unevaluatedProperties",
    "default",
];

/// A tool's schema as Gemini takes it for the parameters of a function declaration.
///
/// Alternatives become `anyOf`, a type or null becomes the type and `nullable`, a constant becomes an
/// `enum`. What has no keyword is said in the description: the format of a string, exclusive bounds,
/// and which integers are meant, since an `enum` holds strings only. Our own gate checks all of it.
pub fn parameters(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return json!({});
    };
    let mut lowered = Map::new();
    let mut notes = Vec::new();
    for (key, value) in members {
        match (key.as_str(), value) {
            (key, _) if DROPPED.contains(&key) => {}
            ("properties" | "$defs", Value::Object(schemas)) => {
                let schemas = schemas.iter();
                let schemas = schemas.map(|(name, schema)| (name.clone(), parameters(schema)));
                lowered.insert(key.clone(), Value::Object(schemas.collect()));
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => any_of(&mut lowered, branches),
            ("allOf" | "prefixItems", Value::Array(branches)) => {
                let branches = branches.iter().map(parameters);
                lowered.insert(key.clone(), branches.collect());
            }
            ("items", items) => {
                lowered.insert(key.clone(), parameters(items));
            }
            ("type", Value::Array(kinds)) => types(&mut lowered, kinds),
            ("const", value) => values(&mut lowered, &mut notes, std::slice::from_ref(value)),
            ("enum", Value::Array(all)) => values(&mut lowered, &mut notes, all),
            ("format", Value::String(format)) => notes.push(format!("format: {format}")),
            ("exclusiveMinimum", bound) => notes.push(format!("greater than {bound}")),
            ("exclusiveMaximum", bound) => notes.push(format!("less than {bound}")),
            (_, value) => {
                lowered.insert(key.clone(), value.clone());
            }
        }
    }
    if !notes.is_empty() {
        let notes = notes.join("; ");
        let text = match lowered.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text} ({notes})"),
            None => notes,
        };
        lowered.insert("description".into(), text.into());
    }
    Value::Object(lowered)
}

fn any_of(lowered: &mut Map<String, Value>, branches: &[Value]) {
    let is_null = |branch: &&Value| branch["type"] == "null";
    if branches.iter().any(|branch| is_null(&branch)) {
        lowered.insert("nullable".into(), true.into());
    }
    let others: Vec<Value> = branches
        .iter()
        .filter(|branch| !is_null(branch))
        .map(parameters)
        .collect();
    match <[Value; 1]>::try_from(others) {
        Ok([Value::Object(only)]) => {
            for (key, value) in only {
                lowered.entry(key).or_insert(value);
            }
        }
        Ok(only) => {
            lowered.insert("anyOf".into(), only.to_vec().into());
        }
        Err(others) => {
            lowered.insert("anyOf".into(), others.into());
        }
    }
}

fn types(lowered: &mut Map<String, Value>, kinds: &[Value]) {
    let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    if others.len() < kinds.len() {
        lowered.insert("nullable".into(), true.into());
    }
    match others.as_slice() {
        [only] => {
            lowered.insert("type".into(), (*only).clone());
        }
        others => {
            let branches = others.iter().map(|kind| match kind.as_str() {
                Some("array") => json!({ "type": kind, "items": {} }),
                _ => json!({ "type": kind }),
            });
            lowered.insert("anyOf".into(), branches.collect());
        }
    }
}

/// An `enum` holds strings only: of numbers the bounds are kept, and the description lists them.
fn values(lowered: &mut Map<String, Value>, notes: &mut Vec<String>, all: &[Value]) {
    if all.iter().any(Value::is_null) {
        lowered.insert("nullable".into(), true.into());
    }
    let words: Vec<&Value> = all.iter().filter(|value| value.is_string()).collect();
    if !words.is_empty() {
        lowered.insert("enum".into(), json!(words));
    }
    let mut numbers: Vec<&Number> = all.iter().filter_map(Value::as_number).collect();
    if !numbers.is_empty() {
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        notes.push(format!("one of {}", list.join(", ")));
        let order = |number: &Number| number.as_f64().unwrap_or_default();
        numbers.sort_by(|left, right| order(left).total_cmp(&order(right)));
        if let [first, .., last] | [first @ last] = numbers.as_slice() {
            lowered.insert("minimum".into(), (*first).clone().into());
            lowered.insert("maximum".into(), (*last).clone().into());
        }
    }
}
