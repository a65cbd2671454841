//! The rules, one function each. Every one of them looks at the whole tool, and none of them stops the others.

mod agreement;
mod constraint;
mod schema;
mod signature;

use proc_macro2::Span;
use syn::Ident;
use syn::ext::IdentExt as _;

use crate::docs::Text;
use crate::errors::Errors;
use crate::model::{Form, Tool};
use crate::names;
use crate::parse::Approval;
use crate::shape::{Shape, spelling};
use crate::written::Schema;

pub(crate) fn all(tool: &Tool, errors: &mut Errors) {
    for rule in RULES {
        rule(tool, errors);
    }
    for param in &tool.params {
        for rule in constraint::RULES {
            rule(param, errors);
        }
    }
    if let Some(Schema::Json(json, origin)) = &tool.schema {
        let before = errors.count();
        schema::is_well_formed(json, origin, errors);
        if errors.count() == before {
            agreement::with_signature(json, origin, tool, errors);
        }
    }
}

const RULES: &[fn(&Tool, &mut Errors)] = &[
    name,
    unit_type,
    description,
    approval,
    properties,
    schema_or_constraints,
    schema_type,
    signature::is_a_method_or_not,
    signature::receiver,
    signature::modifiers,
    signature::generics,
    signature::patterns,
    signature::types,
    signature::other_attributes,
    signature::resume,
];

fn name(tool: &Tool, errors: &mut Errors) {
    let name = &tool.name;
    if names::is_portable(&name.text) {
        return;
    }
    let fault = if name.text.is_empty() {
        "the name of a tool cannot be empty".to_owned()
    } else if name.text.get(..64).is_some_and(names::is_portable) {
        format!(
            "`{}` is longer than the 64 characters that providers accept",
            name.text
        )
    } else {
        format!("providers refuse `{}` as the name of a tool", name.text)
    };
    let advice = if tool.arguments.name.is_some() {
        "use ASCII letters, digits, `_` and `-`, up to 64 of them, and no digit or `-` in front"
    } else {
        "add `name = \"…\"` to `#[tool]`, in ASCII letters, digits, `_` and `-`, up to 64 of them"
    };
    errors.on(name.span, format!("{fault}: {advice}"));
}

const PRELUDE: &[&str] = &[
    "Box", "Err", "None", "Ok", "Option", "Result", "Some", "String", "Vec",
];

fn unit_type(tool: &Tool, errors: &mut Errors) {
    if let Some((at, message)) = clash(tool) {
        errors.on(at, message);
    }
}

/// Why the type of a function's tool cannot stand beside what the user has.
pub(crate) fn clash(tool: &Tool) -> Option<(Span, String)> {
    let Form::Function { unit, .. } = &tool.form else {
        return None;
    };
    let signature = &tool.execute.signature;
    let function = signature.ident.unraw().to_string();
    let ty = unit.unraw().to_string();
    let rename = format!(
        "call the function something else and add `name = \"{}\"`",
        tool.name.text
    );
    let at = signature.ident.span();
    if ty == function {
        Some((
            at,
            format!(
                "the tool of `{function}` is a type of the same name: write the function in snake_case"
            ),
        ))
    } else if syn::parse_str::<Ident>(&names::unit_type(&function)).is_err() {
        Some((
            at,
            format!("no type can be named after `{function}`: {rename}"),
        ))
    } else if PRELUDE.contains(&ty.as_str()) {
        Some((
            at,
            format!(
                "`{function}` makes a type `{ty}`, which would hide the one of the standard library: {rename}"
            ),
        ))
    } else {
        let used = signature::uses_type(signature, &ty)?;
        Some((
            used.span(),
            format!(
                "`{function}` makes a type `{ty}` of its own, and this is another one: {rename}"
            ),
        ))
    }
}

fn description(tool: &Tool, errors: &mut Errors) {
    match &tool.description {
        Some(Text::Literal(text)) if text.trim().is_empty() => {
            errors.at(
                &tool.arguments.description,
                "a tool's description cannot be empty: say what the tool does and when to use it",
            );
        }
        Some(_) => {}
        None => {
            let what = match &tool.form {
                Form::Function { .. } => "a doc comment above the function",
                Form::Impl { .. } => "a doc comment above `execute`",
            };
            errors.at(&tool.execute.signature.ident, format!("a tool needs a description that tells the model when to use it: write {what}, `/// Gets the weather.`, or `#[tool(description = \"…\")]`"));
        }
    }
}

fn approval(tool: &Tool, errors: &mut Errors) {
    let (Some((key, requirement)), Some(_)) =
        (&tool.arguments.requires_approval, &tool.arguments.approval)
    else {
        return;
    };
    match requirement {
        Approval::Flag(true) => {}
        Approval::Flag(false) => errors.at(key, "`requires_approval = false` contradicts `approval`: keep one of them"),
        Approval::Predicate(_) => errors.at(key, "`approval` already decides which calls need approval: leave out the predicate, and return `Decision::Approved` for the others"),
    }
}

fn properties(tool: &Tool, errors: &mut Errors) {
    let mut taken: Vec<(String, String)> = Vec::new();
    let mut idents: Vec<String> = Vec::new();
    for param in &tool.params {
        let ident = param.named();
        // The compiler reports a parameter that is there twice.
        if idents.contains(&ident) {
            continue;
        }
        let own = [(param.property.text.clone(), param.property.span)];
        let aliases = param
            .arguments
            .aliases
            .iter()
            .map(|alias| (alias.value(), alias.span()));
        for (property, span) in own.into_iter().chain(aliases) {
            if property == "tool_call" {
                errors.on(span, "`tool_call` is the name of the running call, which no model can set: choose another");
            } else if let Some((_, other)) = taken.iter().find(|(name, _)| *name == property) {
                errors.on(
                    span,
                    format!(
                        "`{property}` is already the property of `{other}`: choose another name"
                    ),
                );
            } else if !names::is_portable_property(&property) {
                errors.on(span, format!("providers refuse `{property}` as the name of a property: write `#[param(rename = \"…\")]` with ASCII letters, digits, `_`, `.` and `-`, up to 64 of them"));
            }
            taken.push((property, ident.clone()));
        }
        idents.push(ident);
    }
}

/// Next to an explicit schema, what would go into an inferred one has no effect.
fn schema_or_constraints(tool: &Tool, errors: &mut Errors) {
    if tool.arguments.schema.is_none() {
        return;
    }
    for param in &tool.params {
        let arguments = &param.arguments;
        let range = arguments.range.as_ref().map(|(key, _)| key);
        let length = arguments.length.as_ref().map(|(key, _)| key);
        let pattern = arguments.pattern.as_ref().map(|(key, _)| key);
        let examples = arguments.examples.iter().map(|(key, _)| key);
        for key in range
            .into_iter()
            .chain(length)
            .chain(pattern)
            .chain(examples)
        {
            errors.at(
                key,
                format!("`{key}` has no effect next to `schema = …`: write it into the schema"),
            );
        }
    }
}

/// Whether other types are objects is known when the schema is made.
fn schema_type(tool: &Tool, errors: &mut Errors) {
    let Some(Schema::Type(ty)) = &tool.schema else {
        return;
    };
    if Shape::of(ty) != Shape::Unknown {
        errors.at(ty, format!("the arguments of a tool are an object, and `{}` is none: write a struct with a field for each parameter", spelling(ty)));
    }
}
