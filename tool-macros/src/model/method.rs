//! A function or method: what it takes, and how that is passed.

use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt as _;
use syn::{FnArg, Ident, Pat, ReturnType, Signature, Type, TypeParamBound};

use super::{Input, Method, Name, Param, Passing};
use crate::errors::Errors;
use crate::shape::{self, Shape};
use crate::{names, parse};

pub(super) fn method(
    signature: &mut Signature,
    body: Span,
    params: &mut Vec<Param>,
    errors: &mut Errors,
) -> Method {
    let mut inputs = Vec::new();
    for input in &mut signature.inputs {
        let FnArg::Typed(typed) = input else {
            continue;
        };
        let name = pattern_name(&typed.pat);
        let arguments = parse::parameter(&mut typed.attrs, errors);
        if name.as_ref().is_some_and(|name| name == "tool_call") {
            if let Some(key) = arguments.first_key {
                errors.at(
                    &key,
                    format!("`{key}` has no effect here: the runtime fills in `tool_call`, and no model sees it"),
                );
            }
            inputs.push(Input::ToolCall(typed.ty.clone()));
            continue;
        }
        inputs.push(Input::Param(params.len(), passing(&typed.ty)));
        let ident = name.unwrap_or_else(|| format_ident!("argument"));
        let property = match &arguments.rename {
            Some(literal) => Name {
                text: literal.value(),
                span: literal.span(),
            },
            None => Name {
                text: names::property(&ident.unraw().to_string()),
                span: ident.span(),
            },
        };
        params.push(Param {
            shape: Shape::of(&typed.ty),
            passing: passing(&typed.ty),
            ty: (*typed.ty).clone(),
            other_attributes: typed.attrs.clone(),
            ident,
            property,
            arguments,
        });
    }
    Method {
        is_async: signature.asyncness.is_some() || returns_future(&signature.output),
        signature: signature.clone(),
        inputs,
        body,
    }
}

pub(super) fn resume(
    signature: &mut Signature,
    body: Span,
    params: &[Param],
    errors: &mut Errors,
) -> Method {
    let mut inputs = Vec::new();
    for input in &mut signature.inputs {
        let FnArg::Typed(typed) = input else {
            continue;
        };
        typed.attrs.retain(|attribute| {
            let is_ours = ["param", "serde", "schemars"]
                .iter()
                .any(|name| attribute.path().is_ident(name));
            if is_ours {
                errors.at(
                    attribute,
                    "the arguments of a tool are described once: move this to `execute`",
                );
            }
            !is_ours && !attribute.path().is_ident("doc")
        });
        let name = pattern_name(&typed.pat).unwrap_or_else(|| format_ident!("argument"));
        let position = params
            .iter()
            .position(|param| param.ident.unraw() == name.unraw());
        inputs.push(match position {
            _ if name == "tool_call" => Input::ToolCall(typed.ty.clone()),
            _ if name == "task" || name == "_task" => Input::Task {
                by_reference: matches!(shape::plain(&typed.ty), Type::Reference(_)),
            },
            Some(index) => Input::Param(index, borrowing(&typed.ty)),
            None => Input::Unknown(name),
        });
    }
    Method {
        is_async: signature.asyncness.is_some() || returns_future(&signature.output),
        signature: signature.clone(),
        inputs,
        body,
    }
}

pub(crate) fn pattern_name(pattern: &Pat) -> Option<Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            Some(name.ident.clone())
        }
        _ => None,
    }
}

fn passing(ty: &Type) -> Passing {
    if shape::is_str(ty) {
        Passing::Borrowed
    } else if shape::option(ty).is_some_and(shape::is_str) {
        Passing::OptionalStr
    } else {
        Passing::Owned
    }
}

/// `resume` may borrow what was read for it.
fn borrowing(ty: &Type) -> Passing {
    match shape::plain(ty) {
        Type::Reference(_) => Passing::Borrowed,
        ty => passing(ty),
    }
}

/// `-> impl Future<…>` is awaited like an `async fn`.
fn returns_future(output: &ReturnType) -> bool {
    let ReturnType::Type(_, ty) = output else {
        return false;
    };
    let Type::ImplTrait(opaque) = shape::plain(ty) else {
        return false;
    };
    opaque.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => bound
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "Future"),
        _ => false,
    })
}
