//! The normal form of a schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::SchemaError;

/// No Rust type can have this name.
const ANY_VALUE: &str = "any-value";
const TYPES: [&str; 6] = ["string", "number", "boolean", "object", "array", "null"];
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

/// Brings the schema of a tool's arguments to its normal form.
///
/// * The root is an object; `type`, `properties`, `required` and `additionalProperties` are there.
/// * Every object with a fixed set of properties refuses others (`additionalProperties: false`).
/// * `$defs` is at the root only, holds what is used more than once or recursive, and every `$ref`
///   resolves. A `$ref` that has a description of its own stands in an `anyOf`.
/// * An optional property has the type of its value; `null` is no alternative.
/// * Every node has a `type`, a `$ref` or alternatives; what may be anything is a `$ref` to
///   `#/$defs/any-value`. An `enum` is one list, with the meaning of its values in the description.
///   An array has `items`, also where they are a tuple.
/// * There is no `$schema`, `$id`, `title`, `default: null` or numeric `format`; a `format` that
///   says how many bits an integer has becomes its bounds, up to 32 bits.
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
    let extended = extended_defs(&Value::Object(root.clone()), &defs);
    let mut any_value = false;
    let mut root = Value::Object(root);
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
        for (key, value) in root {
            result.insert(key, value);
        }
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

/// Moves all definitions, nested ones too, to `defs`, and points every `$ref` at them.
fn collect_defs(node: &mut Map<String, Value>, defs: &mut Map<String, Value>) {
    for key in ["$defs", "definitions"] {
        if let Some(Value::Object(found)) = node.remove(key) {
            for (name, mut def) in found {
                if let Value::Object(def) = &mut def {
                    collect_defs(def, defs);
                }
                defs.entry(name).or_insert(def);
            }
        }
    }
    if let Some(Value::String(reference)) = node.get_mut("$ref")
        && let Some(name) = reference.strip_prefix("#/definitions/")
    {
        *reference = format!("#/$defs/{name}");
    }
    for child in children(node) {
        if let Value::Object(child) = child {
            collect_defs(child, defs);
        }
    }
}

/// A root that is a reference becomes what it refers to; a reference to the root becomes one to a
/// definition.
fn lift_root(
    mut root: Map<String, Value>,
    defs: &mut Map<String, Value>,
) -> Result<Map<String, Value>, SchemaError> {
    let mut seen = HashSet::new();
    while let Some(reference) = root.get("$ref").and_then(Value::as_str) {
        let name = reference
            .strip_prefix("#/$defs/")
            .unwrap_or(reference)
            .to_owned();
        if !seen.insert(name.clone()) {
            return Err(SchemaError::new(format!(
                "`$ref` at the root leads back to `{name}`"
            )));
        }
        let Some(Value::Object(target)) = defs.get(&name) else {
            return Err(unresolved(reference));
        };
        let mut target = target.clone();
        root.remove("$ref");
        for (key, value) in root {
            target.insert(key, value);
        }
        root = target;
    }
    let name = root
        .get("title")
        .and_then(Value::as_str)
        .unwrap_or("Arguments")
        .to_owned();
    let mut whole = Value::Object(root.clone());
    let mut recursive = repoint(&mut whole, &name);
    for def in defs.values_mut() {
        recursive |= repoint(def, &name);
    }
    if recursive {
        defs.entry(name).or_insert_with(|| whole.clone());
        if let Value::Object(whole) = whole {
            return Ok(whole);
        }
    }
    Ok(root)
}

fn repoint(node: &mut Value, name: &str) -> bool {
    let Value::Object(map) = node else {
        return false;
    };
    let mut found = false;
    if let Some(Value::String(reference)) = map.get_mut("$ref")
        && reference == "#"
    {
        *reference = format!("#/$defs/{name}");
        found = true;
    }
    for child in children(map) {
        found |= repoint(child, name);
    }
    found
}

/// All schemas directly below a schema.
pub(super) fn children(node: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    node.iter_mut().flat_map(|(key, value)| -> Vec<&mut Value> {
        match (key.as_str(), value) {
            (
                "items"
                | "additionalProperties"
                | "not"
                | "contains"
                | "propertyNames"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                value @ (Value::Object(_) | Value::Bool(_)),
            ) => vec![value],
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().collect()
            }
            (
                "properties" | "patternProperties" | "dependentSchemas" | "$defs",
                Value::Object(map),
            ) => map.values_mut().collect(),
            _ => Vec::new(),
        }
    })
}

/// The definitions that a node extends with properties of its own; closing those would refuse them.
fn extended_defs(root: &Value, defs: &Map<String, Value>) -> HashSet<String> {
    fn visit(node: &Value, inside: bool, found: &mut HashSet<String>) {
        let Value::Object(map) = node else { return };
        let extends = inside || map.contains_key("properties");
        if let Some(name) = reference(map)
            && extends
        {
            found.insert(name.to_owned());
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            let inside = extends || key == "allOf";
            map.get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .for_each(|branch| visit(branch, inside, found));
        }
        for key in ["properties", "patternProperties", "dependentSchemas"] {
            map.get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Map::values)
                .for_each(|child| visit(child, false, found));
        }
        for key in ["items", "additionalProperties", "not"] {
            map.get(key)
                .into_iter()
                .for_each(|child| visit(child, false, found));
        }
        map.get("prefixItems")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .for_each(|child| visit(child, false, found));
    }
    let mut found = HashSet::new();
    visit(root, false, &mut found);
    defs.values().for_each(|def| visit(def, false, &mut found));
    found
}

fn reference(map: &Map<String, Value>) -> Option<&str> {
    map.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn unresolved(reference: &str) -> SchemaError {
    SchemaError::new(format!(
        "`$ref` to `{reference}` does not resolve in the schema"
    ))
}

struct Form<'a> {
    any_value: &'a mut bool,
    /// Whether objects here refuse what they do not list.
    closed: bool,
}

impl Form<'_> {
    fn node(&mut self, node: &mut Value) {
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
    if let Some((_, bounds)) = numeric {
        map.shift_remove("format");
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
pub(super) fn without_null(node: &mut Value) {
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

/// Puts definitions that are used once where they are used, drops those that are not used, and
/// checks that the rest is there.
fn inline(root: &mut Value, defs: &mut Map<String, Value>) -> Result<(), SchemaError> {
    loop {
        let mut uses: Vec<(String, usize)> = Vec::new();
        count(root, &mut uses);
        defs.values().for_each(|def| count(def, &mut uses));
        for (name, _) in &uses {
            if !defs.contains_key(name) && name != ANY_VALUE {
                return Err(unresolved(name));
            }
        }
        defs.retain(|name, _| uses.iter().any(|(used, _)| used == name));
        let once = uses.iter().find(|(name, count)| {
            *count == 1 && defs.contains_key(name) && !refers(&defs[name.as_str()], name)
        });
        let Some((name, _)) = once else { return Ok(()) };
        let Some(def) = defs.shift_remove(name) else {
            return Ok(());
        };
        replace(root, name, &def);
        defs.values_mut()
            .for_each(|other| replace(other, name, &def));
    }
}

fn refers(node: &Value, name: &str) -> bool {
    let mut uses = Vec::new();
    count(node, &mut uses);
    uses.iter().any(|(used, _)| used == name)
}

fn count(node: &Value, uses: &mut Vec<(String, usize)>) {
    let mut node = node.clone();
    fn walk(node: &mut Value, uses: &mut Vec<(String, usize)>) {
        let Value::Object(map) = node else { return };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let name = reference
                .strip_prefix("#/$defs/")
                .unwrap_or(reference)
                .to_owned();
            match uses.iter_mut().find(|(used, _)| *used == name) {
                Some((_, count)) => *count += 1,
                None => uses.push((name, 1)),
            }
        }
        children(map).for_each(|child| walk(child, uses));
    }
    walk(&mut node, uses);
}

fn replace(node: &mut Value, name: &str, def: &Value) {
    let Value::Object(map) = node else { return };
    if reference(map) == Some(name) {
        map.shift_remove("$ref");
        if let Value::Object(def) = def {
            for (key, value) in def {
                map.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        return;
    }
    // `anyOf: [{$ref}]` with a description was a decorated reference: it can now stand plain.
    if let Some(Value::Array(branches)) = map.get("anyOf")
        && let [Value::Object(only)] = branches.as_slice()
        && reference(only) == Some(name)
    {
        map.shift_remove("anyOf");
        if let Value::Object(def) = def {
            for (key, value) in def {
                map.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        return;
    }
    children(map).for_each(|child| replace(child, name, def));
}
