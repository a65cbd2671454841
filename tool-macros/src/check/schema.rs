//! Whether an explicit schema is one: the meta-schema of JSON Schema 2020-12, by hand.

use crate::errors::{Errors, closest, list};
use crate::json::{Json, Member, Value};
use crate::written::Origin;

/// What the value of a keyword has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Schema,
    /// `true` is everything, `false` is nothing.
    SchemaOrBool,
    Schemas,
    Named,
    Types,
    Words,
    Enum,
    Text,
    Flag,
    Count,
    Number,
    Positive,
    List,
    Reference,
    Any,
}

const KEYWORDS: &[(&str, Form)] = &[
    ("type", Form::Types),
    ("properties", Form::Named),
    ("required", Form::Words),
    ("description", Form::Text),
    ("title", Form::Text),
    ("enum", Form::Enum),
    ("const", Form::Any),
    ("default", Form::Any),
    ("examples", Form::List),
    ("items", Form::SchemaOrBool),
    ("prefixItems", Form::Schemas),
    ("contains", Form::SchemaOrBool),
    ("additionalProperties", Form::SchemaOrBool),
    ("unevaluatedProperties", Form::SchemaOrBool),
    ("unevaluatedItems", Form::SchemaOrBool),
    ("patternProperties", Form::Named),
    ("propertyNames", Form::SchemaOrBool),
    ("dependentSchemas", Form::Named),
    ("dependentRequired", Form::Any),
    ("allOf", Form::Schemas),
    ("anyOf", Form::Schemas),
    ("oneOf", Form::Schemas),
    ("not", Form::SchemaOrBool),
    ("if", Form::SchemaOrBool),
    ("then", Form::SchemaOrBool),
    ("else", Form::SchemaOrBool),
    ("minimum", Form::Number),
    ("maximum", Form::Number),
    ("exclusiveMinimum", Form::Number),
    ("exclusiveMaximum", Form::Number),
    ("multipleOf", Form::Positive),
    ("minLength", Form::Count),
    ("maxLength", Form::Count),
    ("minItems", Form::Count),
    ("maxItems", Form::Count),
    ("minContains", Form::Count),
    ("maxContains", Form::Count),
    ("minProperties", Form::Count),
    ("maxProperties", Form::Count),
    ("pattern", Form::Text),
    ("format", Form::Text),
    ("uniqueItems", Form::Flag),
    ("contentEncoding", Form::Text),
    ("contentMediaType", Form::Text),
    ("contentSchema", Form::Schema),
    ("deprecated", Form::Flag),
    ("readOnly", Form::Flag),
    ("writeOnly", Form::Flag),
    ("nullable", Form::Flag),
    ("example", Form::Any),
    ("definitions", Form::Named),
    ("$defs", Form::Named),
    ("$ref", Form::Reference),
    ("$schema", Form::Text),
    ("$id", Form::Text),
    ("$anchor", Form::Text),
    ("$comment", Form::Text),
];

const TYPES: &[&str] = &[
    "object", "array", "string", "integer", "number", "boolean", "null",
];

const BOUNDS: &[(&str, &str)] = &[
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

struct Checker<'a> {
    root: &'a Json,
    origin: &'a Origin,
    errors: &'a mut Errors,
}

pub(super) fn is_well_formed(root: &Json, origin: &Origin, errors: &mut Errors) {
    let mut checker = Checker {
        root,
        origin,
        errors,
    };
    if !matches!(root.value, Value::Object(_)) {
        let message = format!(
            "a schema is an object, and this is {}: write `{{ \"type\": \"object\", \"properties\": {{}} }}`",
            root.described()
        );
        return checker.fault(root, &message);
    }
    match root.get("type") {
        Some(kind) if kind.text() != Some("object") => {
            checker.fault(
                kind,
                "the arguments of a tool are an object: write `\"type\": \"object\"` here",
            );
        }
        Some(_) => {}
        None => checker.fault(
            root,
            "the arguments of a tool are an object: add `\"type\": \"object\"`",
        ),
    }
    checker.schema(root);
}

impl Checker<'_> {
    fn fault(&mut self, json: &Json, message: &str) {
        self.origin.report(json.place, message, self.errors);
    }

    fn schema(&mut self, schema: &Json) {
        for member in schema.members() {
            self.keyword(member);
        }
        for (low, high) in BOUNDS {
            let number = |key| schema.get(key).and_then(Json::number);
            if let (Some(least), Some(most), Some(at)) =
                (number(low), number(high), schema.get(low))
                && least > most
            {
                self.fault(at, &format!("`{low}` is above `{high}`: nothing can fit"));
            }
        }
    }

    fn keyword(&mut self, member: &Member) {
        let key = member.key.as_str();
        let json = &member.json;
        let Some((_, form)) = KEYWORDS.iter().find(|(known, _)| *known == key) else {
            let known: Vec<&str> = KEYWORDS.iter().map(|(known, _)| *known).collect();
            if let Some(near) = closest(key, &known).filter(|_| !key.starts_with("x-")) {
                let message = format!("`{key}` is not a keyword of JSON Schema: write `{near}`");
                self.origin.report(member.place, &message, self.errors);
            }
            return;
        };
        let expected = match form {
            Form::Any => return,
            Form::Types => return self.types(json),
            Form::Words => return self.words(key, json),
            Form::Reference => return self.reference(json),
            Form::Named => return self.named(key, json),
            Form::Schemas => return self.schemas(key, json),
            Form::SchemaOrBool if matches!(json.value, Value::Bool(_)) => return,
            Form::Schema | Form::SchemaOrBool => match json.value {
                Value::Object(_) => return self.schema(json),
                _ => "a schema in braces",
            },
            Form::Text if json.text().is_none() => "a string",
            Form::Flag if !matches!(json.value, Value::Bool(_)) => "`true` or `false`",
            Form::Number if json.number().is_none() => "a number",
            Form::Positive if json.number().is_none_or(|number| number <= 0.0) => {
                "a number above 0"
            }
            Form::Count if !json.is_integer() || json.number().is_some_and(|n| n < 0.0) => {
                "a whole number that is not negative"
            }
            Form::List if !matches!(json.value, Value::Array(_)) => "a list",
            Form::Enum if json.items().is_empty() => "a list with at least one value",
            _ => return,
        };
        self.fault(
            json,
            &format!("`{key}` takes {expected}, and this is {}", json.described()),
        );
    }

    fn types(&mut self, json: &Json) {
        let names = match &json.value {
            Value::String(_) => std::slice::from_ref(json),
            Value::Array(items) if !items.is_empty() => items,
            _ => {
                let known = list(TYPES.iter().copied());
                return self.fault(
                    json,
                    &format!("`type` takes one of {known}, or a list of them"),
                );
            }
        };
        for name in names {
            let text = name.text().unwrap_or("");
            if !TYPES.contains(&text) {
                let end = match foreign(text) {
                    Some(right) => format!(": write `\"{right}\"`"),
                    None => crate::errors::choices(text, "write one of", TYPES),
                };
                self.fault(
                    name,
                    &format!(
                        "`{}` is not a type of JSON Schema{end}",
                        name.text().unwrap_or(name.kind())
                    ),
                );
            }
        }
    }

    fn words(&mut self, key: &str, json: &Json) {
        let Value::Array(items) = &json.value else {
            return self.fault(
                json,
                &format!(
                    "`{key}` takes a list of names, and this is {}",
                    json.described()
                ),
            );
        };
        for (index, item) in items.iter().enumerate() {
            let Some(name) = item.text() else {
                self.fault(
                    item,
                    &format!(
                        "`{key}` takes a list of names, and this is {}",
                        item.described()
                    ),
                );
                continue;
            };
            if items
                .iter()
                .take(index)
                .any(|before| before.text() == Some(name))
            {
                self.fault(item, &format!("`{name}` is in `{key}` twice"));
            }
        }
    }

    fn named(&mut self, key: &str, json: &Json) {
        if !matches!(json.value, Value::Object(_)) {
            return self.fault(
                json,
                &format!(
                    "`{key}` takes an object of schemas, and this is {}",
                    json.described()
                ),
            );
        }
        for member in json.members() {
            self.nested(&member.key, &member.json);
        }
    }

    fn schemas(&mut self, key: &str, json: &Json) {
        if json.items().is_empty() {
            return self.fault(
                json,
                &format!("`{key}` takes a list with at least one schema"),
            );
        }
        for item in json.items() {
            self.nested(key, item);
        }
    }

    fn nested(&mut self, key: &str, json: &Json) {
        match json.value {
            Value::Object(_) => self.schema(json),
            Value::Bool(_) => {}
            _ => self.fault(
                json,
                &format!(
                    "`{key}` is a schema in braces, and this is {}",
                    json.described()
                ),
            ),
        }
    }

    fn reference(&mut self, json: &Json) {
        let Some(text) = json.text() else {
            return self.fault(json, "`$ref` takes a string such as `\"#/$defs/Address\"`");
        };
        let Some(pointer) = text.strip_prefix('#') else {
            return self.fault(json, "a model cannot fetch another document: put it under `$defs` and refer to `\"#/$defs/…\"`");
        };
        let target = pointer.split('/').skip(1).try_fold(self.root, |at, step| {
            at.get(&step.replace("~1", "/").replace("~0", "~"))
        });
        if target.is_none() {
            self.fault(
                json,
                &format!("`{text}` leads nowhere: there is no such place in this schema"),
            );
        }
    }
}

/// Types as other languages call them.
fn foreign(word: &str) -> Option<&'static str> {
    Some(match word {
        "int" | "i32" | "i64" | "u32" | "u64" | "usize" | "long" => "integer",
        "float" | "double" | "f64" | "f32" => "number",
        "bool" => "boolean",
        "str" | "String" | "text" => "string",
        "list" | "vec" | "Vec" => "array",
        "dict" | "map" | "struct" => "object",
        "None" | "nil" => "null",
        _ => return None,
    })
}
