//! Schemas in the subset to which Anthropic can hold a model.

use std::fmt;

use serde_json::{Map, Value};
use tool_core::{ModelError, ModelErrorKind, Tool};

use super::super::schema::{ALLOWS_ANY, ANY_VALUE, Misfit, note};

/// How many strict tools a request may have, and how many optional parameters and parameters of several
/// types those may have together. They were found by asking for more.
const STRICT_TOOLS: usize = 20;
const OPTIONAL: usize = 24;
const UNIONS: usize = 16;

const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Keywords of the subset whose values are kept as they are.
const KEPT: [&str; 7] = [
    "$ref",
    "type",
    "description",
    "enum",
    "const",
    "required",
    "additionalProperties",
];

/// Keywords that tell a model nothing.
const DROPPED: [&str; 7] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "title",
    "deprecated",
    "readOnly",
];

/// The schema of a tool's arguments for `strict`. Optional properties stay optional; what the subset
/// lacks is said in the description.
pub(super) fn strict(schema: &Value) -> Result<Value, Misfit> {
    recursive(schema, schema, "", &mut Vec::new())?;
    lower(schema, "")
}

/// What the strict tools of a request have together.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    tools: usize,
    optional: usize,
    unions: usize,
}

impl Limits {
    /// With one more tool.
    ///
    /// # Errors
    ///
    /// That is more than a request may have.
    pub(super) fn with(mut self, tool: &dyn Tool) -> Result<Self, ModelError> {
        let definition = tool.definition();
        if definition.strict() != Some(true) {
            return Ok(self);
        }
        self.tools += 1;
        measure(
            definition.schema().as_value(),
            &mut self.optional,
            &mut self.unions,
        );
        let (what, count, limit) = match self {
            _ if self.tools > STRICT_TOOLS => ("strict tools", self.tools, STRICT_TOOLS),
            _ if self.optional > OPTIONAL => (
                "optional parameters of strict tools",
                self.optional,
                OPTIONAL,
            ),
            _ if self.unions > UNIONS => {
                let what = "parameters of several types of strict tools";
                (what, self.unions, UNIONS)
            }
            _ => return Ok(self),
        };
        let text = format!(
            "with the tool `{}` there are {count} {what}, but Anthropic takes {limit} in a request: \
             make fewer tools strict",
            tool.name()
        );
        Err(ModelError::new(ModelErrorKind::Configuration, text))
    }
}

fn measure(schema: &Value, optional: &mut usize, unions: &mut usize) {
    let Value::Object(members) = schema else {
        if let Value::Array(all) = schema {
            all.iter()
                .for_each(|inner| measure(inner, optional, unions));
        }
        return;
    };
    let is_union = members.contains_key("anyOf")
        || members.contains_key("oneOf")
        || members.get("type").is_some_and(Value::is_array);
    *unions += usize::from(is_union);
    if let Some(Value::Object(properties)) = members.get("properties") {
        let required = members.get("required").and_then(Value::as_array);
        *optional += properties
            .len()
            .saturating_sub(required.map_or(0, Vec::len));
        properties
            .values()
            .for_each(|inner| measure(inner, optional, unions));
    }
    for key in ["items", "anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(inner) = members.get(key) {
            measure(inner, optional, unions);
        }
    }
    if let Some(Value::Object(definitions)) = members.get("$defs") {
        definitions
            .values()
            .for_each(|inner| measure(inner, optional, unions));
    }
}

/// Refuses a schema that refers to itself.
fn recursive<'s>(
    root: &'s Value,
    schema: &'s Value,
    path: &str,
    inside: &mut Vec<&'s str>,
) -> Result<(), Misfit> {
    match schema {
        Value::Array(all) => {
            for (index, inner) in all.iter().enumerate() {
                recursive(root, inner, &format!("{path}/{index}"), inside)?;
            }
        }
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                if reference == ANY_VALUE {
                    return Err(Misfit::at(path, ALLOWS_ANY));
                }
                if inside.contains(&reference.as_str()) || reference == "#" {
                    return Err(Misfit::at(
                        path,
                        "refers to itself, which strict does not allow",
                    ));
                }
                inside.push(reference);
                if let Some(target) = root.pointer(reference.trim_start_matches('#')) {
                    recursive(root, target, path, inside)?;
                }
                inside.pop();
            }
            for (key, inner) in members.iter().filter(|(key, _)| *key != "$defs") {
                let path = match key.as_str() {
                    "properties" => path.to_owned(),
                    key => format!("{path}/{key}"),
                };
                recursive(root, inner, &path, inside)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn lower(schema: &Value, path: &str) -> Result<Value, Misfit> {
    let Some(members) = schema.as_object().filter(|members| !members.is_empty()) else {
        return Err(Misfit::at(path, ALLOWS_ANY));
    };
    let mut lowered = Map::new();
    let mut notes = Vec::new();
    for (key, value) in members {
        let kept = match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(all)) => {
                let all = all.iter().map(|(name, inner)| {
                    lower(inner, &format!("{path}/{name}")).map(|inner| (name.clone(), inner))
                });
                Some(Value::Object(all.collect::<Result<_, _>>()?))
            }
            ("items", inner) => Some(lower(inner, &format!("{path}/items"))?),
            ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => {
                let all = all.iter().enumerate();
                let all = all.map(|(index, inner)| lower(inner, &format!("{path}/{key}/{index}")));
                let name = if key == "allOf" { "allOf" } else { "anyOf" };
                lowered.insert(name.into(), all.collect::<Result<Vec<_>, _>>()?.into());
                continue;
            }
            ("prefixItems" | "patternProperties", _) => {
                let text = "is of a form that strict does not know: a tuple or a pattern of keys";
                return Err(Misfit::at(path, text));
            }
            ("additionalProperties", Value::Object(_) | Value::Bool(true)) => {
                let text = "is an object with any keys, which strict does not allow";
                return Err(Misfit::at(path, text));
            }
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                Some(value.clone())
            }
            ("minItems", Value::Number(least)) if least.as_u64().is_some_and(|least| least < 2) => {
                Some(value.clone())
            }
            (key, value) if KEPT.contains(&key) => Some(value.clone()),
            (key, _) if DROPPED.contains(&key) => None,
            (key, value) => {
                notes.push(said(key, value));
                None
            }
        };
        if let Some(kept) = kept {
            lowered.insert(key.clone(), kept);
        }
    }
    if lowered.contains_key("properties") {
        lowered.insert("additionalProperties".into(), false.into());
    }
    if !notes.is_empty() {
        note(&mut lowered, &notes.join("; "));
    }
    Ok(Value::Object(lowered))
}

fn said(key: &str, value: &impl fmt::Display) -> String {
    format!("{key}: {value}")
}
