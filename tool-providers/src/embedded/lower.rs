//! A tool's schema in the words that the guide knows.

use serde_json::{Map, Value, json};

/// How much of a schema the guide follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// All that it knows.
    Full,
    /// Types, names and closed sets, where a pattern or a bound is beyond it.
    Shape,
}

const SHAPE: &[&str] = &["type", "required", "enum", "const", "additionalProperties"];
const BOUNDS: &[&str] = &[
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];
const FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
    "uri",
];
const MOST_ITEMS: usize = 32;

/// The schema of the arguments of tool number `index`. What its `$ref`s name goes to `definitions`.
///
/// Strings and lists without a limit get one, since a small model may not find their end.
pub(super) fn lower(
    schema: &Value,
    index: usize,
    strictness: Strictness,
    longest: usize,
    definitions: &mut Map<String, Value>,
) -> Value {
    let lowerer = Lowerer {
        index,
        strictness,
        longest,
    };
    if let Some(Value::Object(named)) = schema.get("$defs") {
        let named = named
            .iter()
            .map(|(name, value)| (format!("{index}.{name}"), lowerer.lower(value)));
        definitions.extend(named);
    }
    let mut lowered = lowerer.lower(schema);
    if let Value::Object(object) = &mut lowered {
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| json!({}));
        object
            .entry("additionalProperties")
            .or_insert(Value::Bool(false));
    }
    // The `$ref` of a schema to itself is `#`.
    let root = format!("{index}.");
    definitions.insert(root.clone(), lowered);
    json!({"$ref": format!("#/$defs/{root}")})
}

struct Lowerer {
    index: usize,
    strictness: Strictness,
    longest: usize,
}

impl Lowerer {
    fn lower(&self, schema: &Value) -> Value {
        let Value::Object(schema) = schema else {
            return schema.clone();
        };
        let mut lowered: Map<String, Value> = schema
            .iter()
            .filter_map(|(key, value)| self.entry(key, value))
            .collect();
        self.bound(&mut lowered);
        Value::Object(lowered)
    }

    fn entry(&self, key: &str, value: &Value) -> Option<(String, Value)> {
        let value = match (key, value) {
            ("properties" | "patternProperties", Value::Object(members)) => members
                .iter()
                .map(|(name, member)| (name.clone(), self.lower(member)))
                .collect(),
            ("items" | "additionalProperties", member) => self.lower(member),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                members.iter().map(|member| self.lower(member)).collect()
            }
            ("$ref", Value::String(reference)) => self.reference(reference).into(),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                self.bounded(value)?
            }
            (key, _) if SHAPE.contains(&key) => value.clone(),
            (key, _) if BOUNDS.contains(&key) => self.bounded(value)?,
            _ => return None,
        };
        Some((key.to_owned(), value))
    }

    fn bounded(&self, value: &Value) -> Option<Value> {
        (self.strictness == Strictness::Full).then(|| value.clone())
    }

    fn reference(&self, reference: &str) -> String {
        let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
        format!("#/$defs/{}.{name}", self.index)
    }

    fn bound(&self, schema: &mut Map<String, Value>) {
        let has = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
        let is = |name: &str| schema.get("type").is_some_and(|kind| includes(kind, name));
        let least = |key: &str| schema.get(key).and_then(Value::as_u64).unwrap_or(0) as usize;
        let string = is("string") && !has(&["maxLength", "enum", "const", "format", "pattern"]);
        let list = is("array") && !has(&["maxItems", "prefixItems", "enum", "const"]);
        let (string_length, list_length) = (
            self.longest.max(least("minLength")),
            MOST_ITEMS.max(least("minItems")),
        );
        if string {
            schema.insert("maxLength".into(), string_length.into());
        }
        if list {
            schema.insert("maxItems".into(), list_length.into());
        }
    }
}

fn includes(kind: &Value, name: &str) -> bool {
    match kind {
        Value::String(kind) => kind == name,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}
