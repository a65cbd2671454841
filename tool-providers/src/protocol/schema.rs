//! Schemas in the subset to which a host can hold a model.
//!
//! What the subset lacks is said in the description, where the model reads it; our own gate still
//! checks it. What would change which values there are at all is an error.

use std::fmt;

use serde_json::{Map, Value, json};

/// Why a schema cannot be held, and where.
#[derive(Debug)]
pub(super) struct Misfit {
    path: String,
    text: &'static str,
}

impl Misfit {
    pub(super) fn at(path: &str, text: &'static str) -> Self {
        Misfit {
            path: path.to_owned(),
            text,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            if self.path.is_empty() {
                "/"
            } else {
                &self.path
            },
            self.text
        )
    }
}

/// What the normal form of a schema refers to where any value is allowed, and why that cannot be held.
pub(super) const ANY_VALUE: &str = "#/$defs/any-value";
pub(super) const ALLOWS_ANY: &str = "allows any value, which strict does not";

type Lowered = Result<Map<String, Value>, Misfit>;

/// Keywords of the subset whose values are kept as they are.
const KEPT: [&str; 14] = [
    "$ref",
    "type",
    "description",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "format",
    "pattern",
];

/// Keywords that tell a model nothing.
const DROPPED: [&str; 10] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "title",
    "deprecated",
    "readOnly",
    "writeOnly",
    "required",
    "additionalProperties",
];

const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// The schema of a tool's arguments for `strict`: every object closed and every property required, an
/// optional one nullable. (An explicit null is read as an absent member.)
pub(super) fn strict(schema: &Value) -> Result<Value, Misfit> {
    lower(schema, "").map(Value::Object)
}

fn lower(schema: &Value, path: &str) -> Lowered {
    let Some(members) = schema.as_object().filter(|members| !members.is_empty()) else {
        return misfit(path, ALLOWS_ANY);
    };
    if let Some(Value::Array(all)) = members.get("allOf") {
        return match all.as_slice() {
            [Value::Object(one)] => {
                let mut merged = one.clone();
                let outer = members.iter().filter(|(key, _)| *key != "allOf");
                merged.extend(outer.map(|(key, value)| (key.clone(), value.clone())));
                lower(&Value::Object(merged), path)
            }
            _ => misfit(
                path,
                "joins several schemas with `allOf`, which strict does not",
            ),
        };
    }
    let mut lowered = Map::new();
    let mut notes = Vec::new();
    for (key, value) in members {
        member(&mut lowered, &mut notes, key, value, path)?;
    }
    if is(members, "object") {
        object(&mut lowered, members, path)?;
    }
    if let Some(Value::Object(all)) = members.get("$defs") {
        let mut definitions = Map::new();
        for (name, schema) in all {
            let path = format!("{path}/$defs/{name}");
            definitions.insert(name.clone(), lower(schema, &path)?.into());
        }
        lowered.insert("$defs".into(), definitions.into());
    }
    if is(members, "array") && !lowered.contains_key("items") {
        return misfit(
            path,
            "is an array of any values, which strict does not allow",
        );
    }
    if !notes.is_empty() {
        note(&mut lowered, &notes.join("; "));
    }
    Ok(bare_reference(lowered))
}

fn member(
    lowered: &mut Map<String, Value>,
    notes: &mut Vec<String>,
    key: &str,
    value: &Value,
    path: &str,
) -> Result<(), Misfit> {
    let lowered_value = match (key, value) {
        ("properties" | "$defs", _) => return Ok(()),
        ("$ref", reference) if reference == ANY_VALUE => misfit(path, ALLOWS_ANY)?,
        ("prefixItems" | "patternProperties", _) => misfit(
            path,
            "is of a form that strict does not know: a tuple or a pattern of keys",
        )?,
        ("items", items) => lower(items, &format!("{path}/items"))?.into(),
        ("anyOf" | "oneOf", Value::Array(all)) => {
            let branches = all.iter().enumerate().map(|(number, branch)| {
                lower(branch, &format!("{path}/{key}/{number}")).map(Value::Object)
            });
            let branches = branches.collect::<Result<Vec<_>, _>>()?;
            lowered.insert("anyOf".into(), branches.into());
            return Ok(());
        }
        ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
            notes.push(format!("format: {format}"));
            return Ok(());
        }
        ("pattern", Value::String(pattern)) if has_lookaround(pattern) => {
            notes.push(format!("pattern: {pattern}"));
            return Ok(());
        }
        (key, value) if KEPT.contains(&key) => value.clone(),
        (key, _) if DROPPED.contains(&key) => return Ok(()),
        (key, value) => {
            notes.push(format!("{key}: {value}"));
            return Ok(());
        }
    };
    lowered.insert(key.to_owned(), lowered_value);
    Ok(())
}

fn object(
    lowered: &mut Map<String, Value>,
    members: &Map<String, Value>,
    path: &str,
) -> Result<(), Misfit> {
    let open = !matches!(
        members.get("additionalProperties"),
        None | Some(Value::Bool(false))
    );
    let Some(Value::Object(properties)) = members.get("properties").filter(|_| !open) else {
        return misfit(
            path,
            "is an object with any keys, which strict does not allow",
        );
    };
    let required = members.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|known| known == name));
    let mut closed = Map::new();
    for (name, schema) in properties {
        let mut property = lower(schema, &format!("{path}/{name}"))?;
        if !is_required(name) {
            property = nullable(property);
        }
        closed.insert(name.clone(), property.into());
    }
    let names: Vec<&String> = properties.keys().collect();
    lowered.insert("required".into(), json!(names));
    lowered.insert("properties".into(), closed.into());
    lowered.insert("additionalProperties".into(), false.into());
    Ok(())
}

/// The schema, or null.
fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    let null = || json!({ "type": "null" });
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        if !branches.contains(&null()) {
            branches.push(null());
        }
        return schema;
    }
    if schema.contains_key("$ref") || schema.contains_key("const") {
        return wrapped(schema, Some(null()));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push("null".into()),
        Some(kind) if kind.is_string() && kind != "null" => *kind = json!([kind, "null"]),
        _ => {}
    }
    schema
}

/// A reference stands alone: what is said beside it is said around it.
fn bare_reference(schema: Map<String, Value>) -> Map<String, Value> {
    match schema.contains_key("$ref") && schema.len() > 1 {
        true => wrapped(schema, None),
        false => schema,
    }
}

fn wrapped(mut schema: Map<String, Value>, other: Option<Value>) -> Map<String, Value> {
    let description = schema.remove("description");
    let mut outer = Map::new();
    outer.extend(description.map(|text| ("description".to_owned(), text)));
    let branches: Vec<Value> = std::iter::once(schema.into()).chain(other).collect();
    outer.insert("anyOf".into(), branches.into());
    outer
}

pub(super) fn note(schema: &mut Map<String, Value>, notes: &str) {
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} ({notes})"),
        None => notes.to_owned(),
    };
    schema.insert("description".into(), text.into());
}

fn is(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(known)) => known == kind,
        Some(Value::Array(known)) => known.iter().any(|known| known == kind),
        _ => kind == "object" && schema.contains_key("properties"),
    }
}

fn has_lookaround(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!"]
        .iter()
        .any(|start| pattern.contains(start))
}

fn misfit<T>(path: &str, text: &'static str) -> Result<T, Misfit> {
    Err(Misfit {
        path: path.to_owned(),
        text,
    })
}
