//! `schema = …`: the schema that the user wrote, and how to point into it.

use std::path::PathBuf;

use proc_macro2::Span;
use syn::{LitStr, Type};

use crate::errors::Errors;
use crate::json::{self, Json, Place};
use crate::parse;

pub(crate) enum Schema {
    Type(Box<Type>),
    Json(Json, Origin),
}

/// Where a schema was written, for messages.
pub(crate) struct Origin {
    span: Span,
    file: Option<File>,
}

pub(crate) struct File {
    /// As in the attribute.
    name: String,
    pub(crate) path: PathBuf,
}

impl Origin {
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    pub(crate) fn report(&self, place: Place, message: &str, errors: &mut Errors) {
        match (place, &self.file) {
            (Place::Token(span), _) => errors.on(span, message),
            (Place::Line(line), Some(file)) => {
                errors.on(
                    self.span,
                    format!("`{}`, line {line}: {message}", file.name),
                );
            }
            (Place::Line(_), None) => errors.on(self.span, message),
        }
    }
}

pub(crate) fn load(schema: &parse::Schema, errors: &mut Errors) -> Option<Schema> {
    match schema {
        parse::Schema::Type(ty) => Some(Schema::Type(Box::new(ty.clone()))),
        parse::Schema::Literal(key, json) => {
            let origin = Origin {
                span: key.span(),
                file: None,
            };
            Some(Schema::Json(json.clone(), origin))
        }
        parse::Schema::File(literal) => read(literal, errors),
    }
}

fn read(literal: &LitStr, errors: &mut Errors) -> Option<Schema> {
    let name = literal.value();
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let path = folder.unwrap_or_default().join(&name);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            errors.at(literal, format!("cannot read `{name}`, which is looked for next to the `Cargo.toml` of this crate: {error}"));
            return None;
        }
    };
    let origin = Origin {
        span: literal.span(),
        file: Some(File { name, path }),
    };
    match json::parse_text(&text) {
        Ok(json) => Some(Schema::Json(json, origin)),
        Err((line, fault)) => {
            origin.report(Place::Line(line), &fault, errors);
            None
        }
    }
}
