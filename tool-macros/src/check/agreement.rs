//! An explicit schema against the signature.

use crate::errors::{Errors, closest};
use crate::json::{Json, Value};
use crate::model::{Param, Tool};
use crate::shape::spelling;
use crate::written::Origin;

pub(super) fn with_signature(schema: &Json, origin: &Origin, tool: &Tool, errors: &mut Errors) {
    let properties = schema
        .get("properties")
        .map(Json::members)
        .unwrap_or_default();
    let known: Vec<&str> = tool
        .params
        .iter()
        .map(|param| param.property.text.as_str())
        .collect();
    for property in properties {
        if property.key == "tool_call" {
            origin.report(
                property.place,
                "`tool_call` is the running call, which no model can set: leave it out",
                errors,
            );
        } else if !known.contains(&property.key.as_str()) {
            let end = match closest(&property.key, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "add the parameter, or leave out the property".to_owned(),
            };
            let message = format!("no parameter is called `{}`: {end}", property.key);
            origin.report(property.place, &message, errors);
        }
    }
    let required = schema.get("required").map(Json::items).unwrap_or_default();
    for name in required {
        let text = name.text().unwrap_or("");
        if !properties.iter().any(|property| property.key == text) {
            origin.report(
                name.place,
                &format!("`{text}` is required, but it is not one of the `properties`"),
                errors,
            );
        }
    }
    for param in &tool.params {
        let name = param.property.text.as_str();
        let Some(property) = properties.iter().find(|property| property.key == name) else {
            let near = properties.iter().map(|property| property.key.as_str());
            let misspelt = near
                .filter(|key| !known.contains(key))
                .any(|key| closest(key, &known) == Some(name));
            if !misspelt {
                errors.on(
                    param.property.span,
                    format!("the schema has no property `{name}`: add it to `properties`"),
                );
            }
            continue;
        };
        let is_required = required.iter().any(|word| word.text() == Some(name));
        requirement(param, &property.json, is_required, errors);
        types(param, &property.json, origin, errors);
    }
}

fn requirement(param: &Param, property: &Json, is_required: bool, errors: &mut Errors) {
    let name = &param.property.text;
    if !is_required && !param.is_optional() {
        errors.on(param.property.span, format!("the schema lets a model leave out `{name}`: add it to `required`, or give the parameter a default or the type `Option<{}>`", spelling(&param.ty)));
    }
    if is_required && param.is_optional() && !allows_null(property) {
        let why = if param.arguments.default.is_some() {
            "has a default"
        } else {
            "is an `Option`"
        };
        errors.on(
            param.property.span,
            format!("`{name}` {why}, but the schema requires it: take it out of `required`"),
        );
    }
}

fn words(property: &Json) -> Vec<&str> {
    match property.get("type") {
        Some(Json {
            value: Value::Array(items),
            ..
        }) => items.iter().filter_map(Json::text).collect(),
        Some(word) => word.text().into_iter().collect(),
        None => Vec::new(),
    }
}

fn allows_null(property: &Json) -> bool {
    let has_null = |key| {
        property
            .get(key)
            .map(Json::items)
            .unwrap_or_default()
            .iter()
            .any(allows_null)
    };
    words(property).contains(&"null") || has_null("anyOf") || has_null("oneOf")
}

fn types(param: &Param, property: &Json, origin: &Origin, errors: &mut Errors) {
    let name = &param.property.text;
    let ty = spelling(&param.ty);
    let Some(own) = param.shape.word() else {
        return;
    };
    let words = words(property);
    let wrong = words
        .iter()
        .find(|word| **word != "null" && !param.shape.accepts(word));
    if let (Some(wrong), Some(at)) = (wrong, property.get("type")) {
        origin.report(at.place, &format!("`{name}` is `{ty}` in Rust, but the schema says `\"{wrong}\"`: write `\"{own}\"`, or change the parameter"), errors);
        return;
    }
    let values = property.get("enum").map(Json::items).unwrap_or_default();
    let constant = property.get("const");
    let default = property.get("default");
    let is_wrong = |value: &&Json| value.kind() != "null" && !param.shape.accepts(value.kind());
    for values in [
        values,
        constant.map_or(&[], std::slice::from_ref),
        default.map_or(&[], std::slice::from_ref),
    ] {
        if let Some(value) = values.iter().find(is_wrong) {
            let message = format!(
                "`{name}` is `{ty}` in Rust, but this value is {}: write values that are `\"{own}\"`, or change the parameter",
                value.described()
            );
            origin.report(value.place, &message, errors);
        }
    }
    if let (Some(items), crate::shape::Shape::List) = (property.get("items"), param.shape) {
        elements(param, items, origin, errors);
    }
}

fn elements(param: &Param, items: &Json, origin: &Origin, errors: &mut Errors) {
    let Some(element) = param.element() else {
        return;
    };
    let wrong = words(items)
        .into_iter()
        .find(|word| *word != "null" && !element.accepts(word));
    if let (Some(wrong), Some(own), Some(at)) = (wrong, element.word(), items.get("type")) {
        let name = &param.property.text;
        let ty = spelling(&param.ty);
        origin.report(at.place, &format!("`{name}` is `{ty}` in Rust, but the schema's items are `\"{wrong}\"`: write `\"{own}\"`, or change the parameter"), errors);
    }
}
