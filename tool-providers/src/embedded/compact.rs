//! A tool as the model reads it: a short schema, in one line.

use serde_json::{Map, Value, json};

/// A tool as the embedded model reads it.
///
/// The model was trained on short, flat schemas. This keeps the names, types, descriptions and
/// closed sets of a schema, puts what a `$ref` names in its place, and leaves out the rest. The
/// whole schema is kept for the guide, which holds the arguments to it.
#[derive(Clone, Debug)]
pub struct CompactTool {
    name: String,
    prompt: String,
    schema: Value,
}

/// How often a `$ref` may lead into another, before a recursive schema is cut.
const DEPTH: usize = 4;
/// What the model can make use of. The guide knows the rest.
const KEPT: &[&str] = &[
    "type",
    "description",
    "enum",
    "const",
    "format",
    "minimum",
    "maximum",
];

impl CompactTool {
    /// A tool of this name, with the JSON Schema of its arguments.
    pub fn new(name: impl Into<String>, description: &str, schema: &Value) -> Self {
        let name = name.into();
        let mut parameters = Compactor { root: schema }.object(schema, 0);
        parameters.entry("properties").or_insert_with(|| json!({}));
        let prompt =
            json!({"name": name, "description": one_line(description), "parameters": parameters});
        CompactTool {
            prompt: prompt.to_string(),
            name,
            schema: schema.clone(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model reads.
    pub(super) fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The whole schema.
    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }
}

struct Compactor<'a> {
    root: &'a Value,
}

impl Compactor<'_> {
    fn value(&self, schema: &Value, depth: usize) -> Value {
        Value::Object(self.object(schema, depth))
    }

    fn object(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let Value::Object(schema) = schema else {
            return Map::new();
        };
        let mut compact = self.base(schema, depth);
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("description", Value::String(text)) => {
                    compact.insert(key.clone(), one_line(text).into());
                }
                ("properties", Value::Object(properties)) => {
                    let properties = properties
                        .iter()
                        .map(|(name, value)| (name.clone(), self.value(value, depth)));
                    compact.insert(key.clone(), Value::Object(properties.collect()));
                }
                ("required", Value::Array(names)) if names.is_empty() => {}
                ("required", _) => {
                    compact.insert(key.clone(), value.clone());
                }
                ("items", _) => {
                    compact.insert(key.clone(), self.value(value, depth));
                }
                ("prefixItems", Value::Array(items)) => {
                    let items = items.iter().map(|item| self.value(item, depth));
                    compact.insert(key.clone(), items.collect());
                }
                (key, _) if KEPT.contains(&key) => {
                    compact.insert(key.into(), value.clone());
                }
                _ => {}
            }
        }
        compact
    }

    /// What a `$ref` or a choice of schemas comes to.
    fn base(&self, schema: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        if let Some(Value::String(reference)) = schema.get("$ref") {
            let target = reference
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            return match target {
                Some(target) if depth < DEPTH => self.object(target, depth + 1),
                _ => Map::new(),
            };
        }
        let choices = ["anyOf", "oneOf", "allOf"]
            .iter()
            .find_map(|key| schema.get(*key)?.as_array());
        let Some(choices) = choices else {
            return Map::new();
        };
        let choices = choices
            .iter()
            .filter(|choice| choice.get("type") != Some(&json!("null")));
        let choices: Vec<_> = choices.map(|choice| self.object(choice, depth)).collect();
        match <[_; 1]>::try_from(choices) {
            Ok([only]) => only,
            Err(choices) => set_of_constants(&choices).unwrap_or_else(|| {
                Map::from_iter([(
                    "anyOf".to_owned(),
                    choices.into_iter().map(Value::Object).collect(),
                )])
            }),
        }
    }
}

/// The choices as one `enum`, if each is a constant.
fn set_of_constants(choices: &[Map<String, Value>]) -> Option<Map<String, Value>> {
    let values: Option<Vec<_>> = choices
        .iter()
        .map(|choice| choice.get("const").cloned())
        .collect();
    let values = values.filter(|values| values.iter().all(Value::is_string))?;
    Some(Map::from_iter([
        ("type".to_owned(), "string".into()),
        ("enum".to_owned(), values.into()),
    ]))
}

/// The model was trained on descriptions of one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
