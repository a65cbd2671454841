//! One node at a time.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::ANY_VALUE;

pub(super) const TYPES: [&str; 6] = ["string", "number", "boolean", "object", "array", "null"];

const NUMERIC_FORMATS: [(&str, Option<(i64, u64)>); 14] = [
    ("int8", Some((i8::MIN as i64, i8::MAX as u64))),
    ("int16", Some((i16::MIN as i64, i16::MAX as u64))),
    ("int32", Some((i32::MIN as i64, i32::MAX as u64))),
    ("uint8", Some((0, u8::MAX as u64))),
    ("uint16", Some((0, u16::MAX as u64))),
    ("uint32", Some((0, u32::MAX as u64))),
    ("int64", None),
    ("int128", None),
    ("int", None),
    ("uint64", None),
    ("uint128", None),
    ("uint", None),
    ("float", None),
    ("double", None),
];

pub(super) struct Form<'a> {
    pub(super) any_value: &'a mut bool,
    /// Whether objects here refuse what they do not list.
    pub(super) closed: bool,
}

impl Form<'_> {
    pub(super) fn node(&mut self, node: &mut Value) {
        if let Value::Bool(true) = node {
            *node = json!({});
        }
        let Value::Object(map) = node else { return };
        strip(map);
        one_enum(map);
        let alternatives = ["anyOf", "oneOf", "allOf"]
            .iter()
            .any(|key| map.contains_key(*key));
        let open = alternatives && map.contains_key("properties");
        let all_of = map.contains_key("allOf");
        let closed = std::mem::replace(&mut self.closed, true);
        for (key, value) in map.iter_mut() {
            match (key.as_str(), value) {
                ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                    self.closed = closed && !open && !all_of;
                    branches.iter_mut().for_each(|branch| self.node(branch));
                    self.closed = true;
                }
                ("prefixItems", Value::Array(list)) => {
                    list.iter_mut().for_each(|item| self.node(item))
                }
                ("properties" | "patternProperties", Value::Object(properties)) => {
                    properties
                        .values_mut()
                        .for_each(|property| self.node(property));
                }
                ("items" | "additionalProperties", child @ Value::Object(_)) => self.node(child),
                ("items", child @ Value::Bool(true)) => self.node(child),
                _ => {}
            }
        }
        self.closed = closed;
        optional_properties(map);
        self.shape(map, alternatives);
    }

    fn shape(&mut self, map: &mut Map<String, Value>, alternatives: bool) {
        if map.contains_key("properties") && !map.contains_key("type") {
            map.insert("type".into(), "object".into());
        }
        let kind = map.get("type").and_then(Value::as_str).map(str::to_owned);
        match kind.as_deref() {
            Some("object") => {
                let is_map = map.contains_key("additionalProperties")
                    || map.contains_key("patternProperties");
                if !map.contains_key("properties")
                    && !is_map
                    && !alternatives
                    && !map.contains_key("$ref")
                {
                    map.insert("properties".into(), json!({}));
                }
                let fixed =
                    map.contains_key("properties") && !alternatives && !map.contains_key("$ref");
                let decided = is_map || map.contains_key("unevaluatedProperties");
                if self.closed && fixed && !decided {
                    map.insert("additionalProperties".into(), false.into());
                }
            }
            Some("array")
                if !map.contains_key("items") || map.get("items") == Some(&Value::Bool(false)) =>
            {
                let items = match map.get_mut("prefixItems").map(Value::take) {
                    Some(Value::Array(prefix)) => tuple(map, prefix),
                    _ => self.anything(),
                };
                map.insert("items".into(), items);
            }
            Some(_) => {}
            None if map.contains_key("type") || alternatives || map.contains_key("$ref") => {}
            None => self.typed(map),
        }
        wrap_reference(map);
    }

    fn anything(&mut self) -> Value {
        *self.any_value = true;
        json!({ "$ref": format!("#/$defs/{ANY_VALUE}") })
    }

    /// Gives a node that does not say what it holds the types of its values, or all types.
    fn typed(&mut self, map: &mut Map<String, Value>) {
        let values = match (map.get("enum"), map.get("const")) {
            (Some(Value::Array(values)), _) => values.clone(),
            (_, Some(value)) => vec![value.clone()],
            _ => Vec::new(),
        };
        let mut kinds: Vec<&str> = Vec::new();
        for value in &values {
            let kind = type_of(value);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        match kinds.as_slice() {
            [] => {
                *self.any_value = true;
                map.insert("$ref".into(), format!("#/$defs/{ANY_VALUE}").into());
            }
            [kind] => {
                map.insert("type".into(), (*kind).into());
            }
            kinds => {
                map.insert("type".into(), json!(kinds));
            }
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn strip(map: &mut Map<String, Value>) {
    for key in ["$schema", "$id", "title", "$anchor", "$comment"] {
        map.shift_remove(key);
    }
    if map.get("default") == Some(&Value::Null) {
        map.shift_remove("default");
    }
    let format = map.get("format").and_then(Value::as_str);
    let numeric =
        format.and_then(|format| NUMERIC_FORMATS.iter().find(|(name, _)| *name == format));
    if let Some((name, bounds)) = numeric {
        map.shift_remove("format");
        if *name == "float" {
            map.entry("minimum").or_insert_with(|| f32::MIN.into());
            map.entry("maximum").or_insert_with(|| f32::MAX.into());
        }
        if let Some((minimum, maximum)) = bounds {
            map.entry("minimum").or_insert_with(|| (*minimum).into());
            map.entry("maximum").or_insert_with(|| (*maximum).into());
        }
    }
}

/// `oneOf` of constants, as it comes of a documented enum, becomes one `enum`.
fn one_enum(map: &mut Map<String, Value>) {
    let Some(key) = ["oneOf", "anyOf"]
        .into_iter()
        .find(|key| map.contains_key(*key))
    else {
        return;
    };
    let Some(Value::Array(branches)) = map.get(key) else {
        return;
    };
    let constants = branches.iter().map(|branch| {
        let branch = branch.as_object()?;
        let known = [
            "const",
            "enum",
            "type",
            "description",
            "title",
            "deprecated",
        ];
        let values = match (branch.get("const"), branch.get("enum")) {
            (Some(value), None) => vec![value.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            _ => return None,
        };
        let plain = branch.keys().all(|key| known.contains(&key.as_str()));
        plain.then(|| (values, branch.get("description").and_then(Value::as_str)))
    });
    let Some(constants) = constants.collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(
        map.get("description")
            .and_then(Value::as_str)
            .map(str::to_owned),
    );
    for (values, description) in &constants {
        if let (Some(value), Some(description)) = (values.first(), description) {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            lines.push(format!(
                "- `{value}`: {}",
                description.split_whitespace().collect::<Vec<_>>().join(" ")
            ));
        }
    }
    let values: Vec<Value> = constants
        .into_iter()
        .flat_map(|(values, _)| values)
        .collect();
    map.shift_remove(key);
    map.insert("enum".into(), Value::Array(values));
    if !lines.is_empty() {
        map.insert("description".into(), lines.join("\n").into());
    }
}

/// A property that may be left out need not be `null`.
fn optional_properties(map: &mut Map<String, Value>) {
    let required: HashSet<String> = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let Some(Value::Object(properties)) = map.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if !required.contains(name) {
            without_null(property);
        }
    }
}

/// Takes `null` from the alternatives of a schema.
fn without_null(node: &mut Value) {
    let Value::Object(map) = node else { return };
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
        if let Some(Value::Array(values)) = map.get_mut("enum")
            && values.len() > 1
        {
            values.retain(|value| !value.is_null());
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = map.get_mut(key) else {
            continue;
        };
        branches.retain(|branch| branch.get("type") != Some(&"null".into()));
        if let [only] = branches.as_mut_slice()
            && only.is_object()
        {
            let only = only.take();
            map.shift_remove(key);
            if let Value::Object(only) = only {
                for (key, value) in only {
                    map.entry(key).or_insert(value);
                }
            }
        }
        wrap_reference(map);
    }
}

fn tuple(map: &mut Map<String, Value>, prefix: Vec<Value>) -> Value {
    let mut kinds: Vec<Value> = Vec::new();
    for item in &prefix {
        if !kinds.contains(item) {
            kinds.push(item.clone());
        }
    }
    map.entry("maxItems").or_insert_with(|| prefix.len().into());
    match <[Value; 1]>::try_from(kinds) {
        Ok([only]) => {
            map.shift_remove("prefixItems");
            only
        }
        Err(kinds) => {
            map.insert("prefixItems".into(), Value::Array(prefix));
            json!({ "anyOf": kinds })
        }
    }
}

/// Not every reader of JSON Schema looks at what stands beside a `$ref`.
fn wrap_reference(map: &mut Map<String, Value>) {
    let decorated = map
        .keys()
        .any(|key| key != "$ref" && key != "properties" && key != "required" && key != "type");
    if map.contains_key("$ref")
        && decorated
        && !map.contains_key("properties")
        && !map.contains_key("anyOf")
    {
        let reference = map.shift_remove("$ref");
        map.insert("anyOf".into(), json!([{ "$ref": reference }]));
    }
}
