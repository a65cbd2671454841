//! What the function or method looks like.

use quote::ToTokens;
use syn::{
    Attribute, FnArg, GenericParam, Generics, Pat, ReceiverKind, ReturnType, Safety, Signature,
    Type, TypeReference,
};

use crate::errors::Errors;
use crate::model::{self, Form, Input, Method, Passing, Tool};
use crate::shape::{self, spelling};

pub(super) fn is_a_method_or_not(tool: &Tool, errors: &mut Errors) {
    if let (Form::Function { .. }, Some(receiver)) = (&tool.form, tool.execute.receiver()) {
        errors.at(receiver, "`#[tool]` does not go on a method: put it on the `impl` block, and call the method `execute`");
    }
}

pub(super) fn receiver(tool: &Tool, errors: &mut Errors) {
    if matches!(tool.form, Form::Function { .. }) {
        return;
    }
    for method in [Some(&tool.execute), tool.resume.as_ref()]
        .into_iter()
        .flatten()
    {
        let name = &method.signature.ident;
        let Some(receiver) = method.receiver() else {
            errors.at(
                name,
                format!("`{name}` is called on the tool: make `&self` its first parameter"),
            );
            continue;
        };
        let is_shared = match &receiver.kind {
            ReceiverKind::Reference(_, _, mutable) => mutable.is_none(),
            ReceiverKind::Typed(_, ty) => spelling(ty) == "&Self",
            _ => false,
        };
        if !is_shared {
            errors.at(receiver, "a tool is shared between calls: write `&self`, and keep what changes in a `Mutex` or an atomic");
        }
    }
}

pub(super) fn modifiers(tool: &Tool, errors: &mut Errors) {
    for method in [Some(&tool.execute), tool.resume.as_ref()]
        .into_iter()
        .flatten()
    {
        let signature = &method.signature;
        if let Safety::Unsafe(keyword) = &signature.safety {
            errors.at(keyword, "a model cannot keep the promises of an `unsafe fn`: write a safe one that checks its arguments");
        }
        if let Some(abi) = &signature.abi {
            errors.at(abi, "a tool has the ABI of Rust: leave this out");
        }
        if let Some(keyword) = &signature.constness {
            errors.at(
                keyword,
                "a tool runs when a model calls it, not at compile time: leave out `const`",
            );
        }
        if let Some(variadic) = &signature.variadic {
            errors.at(
                variadic,
                "a tool has a fixed list of parameters: take a `Vec` instead",
            );
        }
    }
}

pub(super) fn generics(tool: &Tool, errors: &mut Errors) {
    if let Form::Impl { ty, generics } = &tool.form {
        check_generics(generics, "a tool", errors);
        let has_own = !generics.params.is_empty();
        if let Some(lifetime) = first_lifetime(ty.to_token_stream()).filter(|_| !has_own) {
            errors.at(lifetime, "a tool cannot borrow, because it outlives every call: hold an owned value or an `Arc`");
        }
    }
    check_generics(&tool.execute.signature.generics, "a tool", errors);
    if let Some(resume) = &tool.resume {
        check_generics(&resume.signature.generics, "a tool", errors);
    }
}

fn check_generics(generics: &Generics, what: &str, errors: &mut Errors) {
    for param in &generics.params {
        match param {
            GenericParam::Lifetime(param) => errors.at(&param.lifetime, format!("{what} has no lifetimes of its own: leave them out, and take owned values or `&str`")),
            GenericParam::Type(param) => errors.at(&param.ident, format!("{what} cannot be generic, because its schema is made for one type: write the type in place of `{}`", param.ident)),
            GenericParam::Const(param) => errors.at(&param.ident, format!("{what} cannot be generic: write the value in place of `{}`", param.ident)),
        }
    }
    if let (true, Some(clause)) = (generics.params.is_empty(), &generics.where_clause) {
        errors.at(
            clause.where_token,
            "a tool has no type parameters that a `where` could limit: leave it out",
        );
    }
}

fn first_lifetime(tokens: proc_macro2::TokenStream) -> Option<syn::Lifetime> {
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            proc_macro2::TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                if let Some(proc_macro2::TokenTree::Ident(name)) = tokens.next()
                    && name != "static"
                {
                    let mut lifetime = syn::Lifetime::new(&format!("'{name}"), name.span());
                    lifetime.apostrophe = punct.span();
                    return Some(lifetime);
                }
            }
            proc_macro2::TokenTree::Group(group) => {
                if let Some(found) = first_lifetime(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

pub(super) fn patterns(tool: &Tool, errors: &mut Errors) {
    let resume = tool
        .resume
        .iter()
        .flat_map(|method| &method.signature.inputs);
    for input in tool.execute.signature.inputs.iter().chain(resume) {
        let FnArg::Typed(typed) = input else { continue };
        if model::pattern_name(&typed.pat).is_some() {
            continue;
        }
        match &*typed.pat {
            Pat::Wild(wild) => errors.at(wild, "a parameter is a property that the model fills in: give it a name"),
            Pat::Ident(name) if name.subpat.is_none() => errors.at(name, format!("the arguments of a tool are owned: write `{}` without `ref`", name.ident)),
            pattern => errors.at(pattern, "a parameter is a property that the model fills in: give it a name here, and take it apart in the body"),
        }
    }
}

const KNOWN_TYPE: &str =
    "a schema is made of one type: write the type of the value that the model sends";

fn is_trait_object(ty: &Type) -> bool {
    matches!(shape::plain(ty), Type::TraitObject(_))
}

pub(super) fn types(tool: &Tool, errors: &mut Errors) {
    for param in &tool.params {
        match shape::plain(&param.ty) {
            Type::ImplTrait(opaque) => errors.at(opaque, KNOWN_TYPE),
            Type::TraitObject(object) => errors.at(object, KNOWN_TYPE),
            Type::Reference(reference) if is_trait_object(&reference.elem) => {
                errors.at(reference, KNOWN_TYPE);
            }
            Type::Infer(_) => {} // The compiler says it.
            ty => borrowed(tool, ty, param.passing, errors),
        }
    }
}

fn borrowed(tool: &Tool, ty: &Type, passing: Passing, errors: &mut Errors) {
    let own = &tool.execute.signature.generics;
    let is_own =
        |lifetime: &syn::Lifetime| own.lifetimes().any(|param| param.lifetime == *lifetime);
    // A lifetime of the function itself is an error where it is declared.
    if passing != Passing::Owned
        || first_lifetime(ty.to_token_stream())
            .as_ref()
            .is_some_and(is_own)
    {
        return;
    }
    if let Type::Reference(reference) = ty {
        let owned = owned(reference);
        errors.at(
            ty,
            format!("a tool owns its arguments, except for `&str`: write `{owned}`"),
        );
    } else if let Some(nested) = nested_reference(ty) {
        let owned = owned(nested);
        errors.at(
            nested,
            format!("a tool owns its arguments, except for `&str`: write `{owned}`"),
        );
    } else if let Some(lifetime) = first_lifetime(ty.to_token_stream()) {
        errors.at(
            lifetime,
            "a tool owns its arguments, except for `&str`: use a type without a lifetime",
        );
    }
}

fn owned(reference: &TypeReference) -> String {
    let elem = shape::plain(&reference.elem);
    let spelled = spelling(elem);
    match elem {
        Type::Slice(slice) => format!("Vec<{}>", spelling(&slice.elem)),
        _ if spelled == "str" => "String".to_owned(),
        _ if spelled == "Path" => "PathBuf".to_owned(),
        _ if spelled == "ToolCall" => "tool_call: &ToolCall".to_owned(),
        Type::Reference(inner) => owned(inner),
        _ => spelled,
    }
}

fn nested_reference(ty: &Type) -> Option<&TypeReference> {
    match shape::plain(ty) {
        Type::Reference(reference) => Some(reference),
        Type::Array(array) => nested_reference(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(nested_reference),
        Type::Path(path) => path.path.segments.iter().find_map(|segment| {
            let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else {
                return None;
            };
            arguments.args.iter().find_map(|argument| match argument {
                syn::GenericArgument::Type(ty) => nested_reference(ty),
                _ => None,
            })
        }),
        _ => None,
    }
}

pub(super) fn other_attributes(tool: &Tool, errors: &mut Errors) {
    let is_cfg =
        |found: &&Attribute| found.path().is_ident("cfg") || found.path().is_ident("cfg_attr");
    for param in &tool.params {
        if let Some(found) = param.other_attributes.iter().find(is_cfg) {
            errors.at(found.path(), "a parameter of a tool cannot come and go: write two tools, each with its own `#[cfg(…)]`");
        }
    }
}

pub(super) fn resume(tool: &Tool, errors: &mut Errors) {
    let Some(Method { inputs, .. }) = &tool.resume else {
        return;
    };
    for input in inputs {
        if let Input::Unknown(name) = input {
            errors.at(name, format!("`execute` has no parameter `{name}`: `resume` takes `task`, `tool_call` and any parameters of `execute`, by name"));
        }
    }
}

/// The first place where the signature names the type without a path.
pub(super) fn uses_type(signature: &Signature, name: &str) -> Option<proc_macro2::Ident> {
    let inputs = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed.ty.to_token_stream()),
        FnArg::Receiver(_) => None,
    });
    let output = match &signature.output {
        ReturnType::Type(_, ty) => Some(ty.to_token_stream()),
        ReturnType::Default => None,
    };
    inputs
        .chain(output)
        .find_map(|tokens| find_word(tokens, name))
}

fn find_word(tokens: proc_macro2::TokenStream, name: &str) -> Option<proc_macro2::Ident> {
    let mut is_qualified = false;
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(word) if word == name && !is_qualified => {
                return Some(word);
            }
            proc_macro2::TokenTree::Group(group) => {
                if let Some(found) = find_word(group.stream(), name) {
                    return Some(found);
                }
                is_qualified = false;
            }
            proc_macro2::TokenTree::Punct(punct) => is_qualified = punct.as_char() == ':',
            _ => is_qualified = false,
        }
    }
    None
}
