//! Schema to rules.

use std::collections::HashMap;

use regex_lite::Regex;
use serde_json::{Map, Number, Value};

use super::{ArrayRules, Gate, Kind, Node, NumberRules, ObjectRules, Others, StringRules};
use crate::SchemaError;

pub(super) fn compile(schema: &Value) -> Result<Gate, SchemaError> {
    let defs = schema.get("$defs").and_then(Value::as_object);
    let mut compiler = Compiler {
        defs,
        named: HashMap::new(),
        nodes: Vec::new(),
    };
    let root = compiler.node(schema)?;
    Ok(Gate {
        nodes: compiler.nodes,
        root,
    })
}

struct Compiler<'a> {
    defs: Option<&'a Map<String, Value>>,
    named: HashMap<&'a str, usize>,
    nodes: Vec<Node>,
}

impl<'a> Compiler<'a> {
    fn node(&mut self, schema: &'a Value) -> Result<usize, SchemaError> {
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.fill(index, schema)?;
        Ok(index)
    }

    fn named(&mut self, reference: &'a str) -> Result<usize, SchemaError> {
        if let Some(index) = self.named.get(reference) {
            return Ok(*index);
        }
        let name = reference.strip_prefix("#/$defs/").unwrap_or(reference);
        let def = self.defs.and_then(|defs| defs.get(name));
        let def = def.ok_or_else(|| {
            SchemaError::new(format!(
                "`$ref` to `{reference}` does not resolve in the schema"
            ))
        })?;
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.named.insert(reference, index);
        self.fill(index, def)?;
        Ok(index)
    }

    fn fill(&mut self, index: usize, schema: &'a Value) -> Result<(), SchemaError> {
        let Value::Object(map) = schema else {
            return Ok(());
        };
        let node = Node {
            kinds: kinds(map)?,
            values: match (map.get("enum"), map.get("const")) {
                (Some(Value::Array(values)), _) => Some(values.clone()),
                (_, Some(value)) => Some(vec![value.clone()]),
                _ => None,
            },
            reference: map
                .get("$ref")
                .and_then(Value::as_str)
                .map(|reference| self.named(reference))
                .transpose()?,
            any_of: self.list(map, "anyOf")?,
            one_of: self.list(map, "oneOf")?,
            all_of: self.list(map, "allOf")?,
            object: self.object(map)?,
            array: self.array(map)?,
            string: string(map),
            number: number(map),
        };
        self.nodes[index] = node;
        Ok(())
    }

    fn list(&mut self, map: &'a Map<String, Value>, key: &str) -> Result<Vec<usize>, SchemaError> {
        map.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|schema| self.node(schema))
            .collect()
    }

    fn object(
        &mut self,
        map: &'a Map<String, Value>,
    ) -> Result<Option<Box<ObjectRules>>, SchemaError> {
        const KEYS: [&str; 6] = [
            "properties",
            "required",
            "patternProperties",
            "additionalProperties",
            "minProperties",
            "maxProperties",
        ];
        if !KEYS.iter().any(|key| map.contains_key(*key)) {
            return Ok(None);
        }
        let mut rules = ObjectRules {
            required: map
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            at_least: size(map, "minProperties"),
            at_most: size(map, "maxProperties"),
            ..ObjectRules::default()
        };
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            rules.properties.push((name.clone(), self.node(schema)?));
        }
        for (pattern, schema) in map
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let schema = self.node(schema)?;
            match regex(pattern) {
                Some(pattern) => rules.patterns.push((pattern, schema)),
                None => rules.unchecked_patterns = true,
            }
        }
        rules.others = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => Others::Refused,
            Some(schema @ Value::Object(_)) => Others::Like(self.node(schema)?),
            _ => Others::Allowed,
        };
        Ok(Some(Box::new(rules)))
    }

    fn array(
        &mut self,
        map: &'a Map<String, Value>,
    ) -> Result<Option<Box<ArrayRules>>, SchemaError> {
        const KEYS: [&str; 5] = [
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
        ];
        if !KEYS.iter().any(|key| map.contains_key(*key)) {
            return Ok(None);
        }
        let items = map.get("items");
        Ok(Some(Box::new(ArrayRules {
            prefix: self.list(map, "prefixItems")?,
            items: items
                .filter(|items| items.is_object())
                .map(|items| self.node(items))
                .transpose()?,
            no_more_items: items == Some(&Value::Bool(false)),
            at_least: size(map, "minItems"),
            at_most: size(map, "maxItems"),
            unique: map.get("uniqueItems") == Some(&Value::Bool(true)),
        })))
    }
}

fn kinds(map: &Map<String, Value>) -> Result<u8, SchemaError> {
    let names: Vec<&Value> = match map.get("type") {
        None => return Ok(0),
        Some(Value::Array(names)) => names.iter().collect(),
        Some(name) => vec![name],
    };
    names.into_iter().try_fold(0, |kinds, name| {
        let kind = name.as_str().and_then(Kind::of_name);
        kind.map(|kind| kinds | kind).ok_or_else(|| {
            SchemaError::new(format!(
                "`type` is `{name}`, which JSON Schema does not know"
            ))
        })
    })
}

fn string(map: &Map<String, Value>) -> Option<Box<StringRules>> {
    if !["minLength", "maxLength", "pattern"]
        .iter()
        .any(|key| map.contains_key(*key))
    {
        return None;
    }
    Some(Box::new(StringRules {
        at_least: size(map, "minLength"),
        at_most: size(map, "maxLength"),
        pattern: map.get("pattern").and_then(Value::as_str).and_then(regex),
    }))
}

fn number(map: &Map<String, Value>) -> Option<Box<NumberRules>> {
    let get = |key: &str| -> Option<Number> { map.get(key)?.as_number().cloned() };
    let rules = NumberRules {
        minimum: get("minimum"),
        maximum: get("maximum"),
        above: get("exclusiveMinimum"),
        below: get("exclusiveMaximum"),
        multiple_of: get("multipleOf"),
    };
    let any = [
        &rules.minimum,
        &rules.maximum,
        &rules.above,
        &rules.below,
        &rules.multiple_of,
    ];
    any.iter()
        .any(|rule| rule.is_some())
        .then(|| Box::new(rules))
}

fn size(map: &Map<String, Value>, key: &str) -> Option<u64> {
    map.get(key)?.as_u64()
}

/// JSON Schema has the patterns of ECMA 262; those that our engine cannot read are not checked.
fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}
