//! Definitions and references: all at the root, each used more than once.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{ANY_VALUE, SchemaError};

/// Moves all definitions, nested ones too, to `defs`, and points every `$ref` at them.
pub(super) fn collect_defs(node: &mut Map<String, Value>, defs: &mut Map<String, Value>) {
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
pub(super) fn lift_root(
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
fn children(node: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    node.iter_mut().flat_map(|(key, value)| -> Vec<&mut Value> {
        if is_schema(key) {
            return vec![value];
        }
        match value {
            Value::Array(list) if is_list_of_schemas(key) => list.iter_mut().collect(),
            Value::Object(map) if is_map_of_schemas(key) => map.values_mut().collect(),
            _ => Vec::new(),
        }
    })
}

fn is_schema(key: &str) -> bool {
    const KEYS: [&str; 10] = [
        "items",
        "additionalProperties",
        "not",
        "contains",
        "propertyNames",
        "if",
        "then",
        "else",
        "unevaluatedProperties",
        "unevaluatedItems",
    ];
    KEYS.contains(&key)
}

fn is_list_of_schemas(key: &str) -> bool {
    ["anyOf", "oneOf", "allOf", "prefixItems"].contains(&key)
}

fn is_map_of_schemas(key: &str) -> bool {
    ["properties", "patternProperties", "dependentSchemas"].contains(&key)
}

/// A node that adds properties to those of a definition gets a copy of them.
pub(super) fn extend(node: &mut Value, defs: &Map<String, Value>) {
    let Value::Object(map) = node else { return };
    // As often as there are definitions: they may refer to each other in a circle.
    let mut left = defs.len();
    while left > 0
        && map.contains_key("properties")
        && let Some(Value::Object(def)) = reference(map).and_then(|name| defs.get(name)).cloned()
    {
        map.shift_remove("$ref");
        merge(map, def);
        left -= 1;
    }
    children(map).for_each(|child| extend(child, defs));
}

fn merge(map: &mut Map<String, Value>, def: Map<String, Value>) {
    for (key, value) in def {
        match (map.get_mut(&key), value) {
            (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => {
                for (name, property) in more {
                    own.entry(name).or_insert(property);
                }
            }
            (Some(Value::Array(own)), Value::Array(more)) if key == "required" => {
                own.extend(more);
            }
            (Some(_), _) => {}
            (None, value) => {
                map.insert(key, value);
            }
        }
    }
}

/// The definitions that a node extends with properties of its own; closing those would refuse them.
pub(super) fn extended_defs(root: &Value, defs: &Map<String, Value>) -> HashSet<String> {
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

/// A scalar of so many bytes says more where it is used than a reference to it does.
const SMALL: usize = 120;

/// Puts definitions that are small scalars or used once where they are used, drops those that are not used, and
/// checks that the rest is there.
pub(super) fn inline(root: &mut Value, defs: &mut Map<String, Value>) -> Result<(), SchemaError> {
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
        let small = |name: &str| {
            let def = &defs[name];
            let scalar = ["string", "integer", "number", "boolean"]
                .iter()
                .any(|kind| def["type"] == **kind);
            scalar && def.to_string().len() <= SMALL
        };
        let once = uses.iter().find(|(name, count)| {
            defs.contains_key(name)
                && (*count == 1 || small(name))
                && !refers(&defs[name.as_str()], name)
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
    let Value::Object(map) = node else { return };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix("#/$defs/").unwrap_or(reference);
        match uses.iter_mut().find(|(used, _)| used == name) {
            Some((_, count)) => *count += 1,
            None => uses.push((name.to_owned(), 1)),
        }
    }
    for (key, value) in map {
        match value {
            Value::Array(list) if is_list_of_schemas(key) => {
                list.iter().for_each(|child| count(child, uses))
            }
            Value::Object(map) if is_map_of_schemas(key) => {
                map.values().for_each(|child| count(child, uses))
            }
            child if is_schema(key) => count(child, uses),
            _ => {}
        }
    }
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
