//! What a tool is, read off the item that carries the attribute.

mod method;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident};
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Expr, FnArg, Generics, Ident, ImplItem, ImplItemFn, Item, ItemFn, ItemImpl,
    Receiver, Signature, Type, Visibility, parse_quote,
};

use crate::docs::{self, Text};
use crate::errors::{Errors, closest};
use crate::parse::{ParamArguments, ToolArguments};
use crate::runtime;
use crate::selfless;
use crate::shape::{self, Shape};
use crate::{names, written};

pub(crate) use method::pattern_name;
use method::{method, resume};

pub(crate) struct Tool {
    pub(crate) form: Form,
    /// `#[cfg(…)]`, which every generated item needs too.
    pub(crate) gates: Vec<Attribute>,
    /// Attributes of the item that are for all that belongs to it.
    pub(crate) shared: Vec<Attribute>,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) name: Name,
    pub(crate) description: Option<Text>,
    pub(crate) params: Vec<Param>,
    pub(crate) execute: Method,
    pub(crate) resume: Option<Method>,
    pub(crate) schema: Option<written::Schema>,
    pub(crate) arguments: ToolArguments,
    /// The path of the module for generated code.
    pub(crate) runtime: TokenStream,
}

pub(crate) enum Form {
    Function {
        visibility: Visibility,
        /// The type that is the tool.
        unit: Ident,
    },
    Impl {
        ty: Box<Type>,
        generics: Generics,
    },
}

pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

pub(crate) struct Param {
    pub(crate) ident: Ident,
    /// As it is written in the signature.
    pub(crate) ty: Type,
    pub(crate) shape: Shape,
    pub(crate) passing: Passing,
    pub(crate) property: Name,
    pub(crate) arguments: ParamArguments,
    pub(crate) other_attributes: Vec<Attribute>,
}

/// How an argument goes into the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    Owned,
    Borrowed,
    OptionalStr,
}

pub(crate) struct Method {
    pub(crate) signature: Signature,
    pub(crate) inputs: Vec<Input>,
    pub(crate) is_async: bool,
    /// The opening brace.
    pub(crate) body: Span,
}

pub(crate) enum Input {
    Param(usize, Passing),
    ToolCall(Box<Type>),
    Task {
        by_reference: bool,
    },
    /// A parameter of `resume` that `execute` does not have.
    Unknown(Ident),
}

impl Param {
    pub(crate) fn is_optional(&self) -> bool {
        self.arguments.default.is_some() || shape::option(&self.ty).is_some()
    }

    /// What a `Vec` or the like holds.
    pub(crate) fn element(&self) -> Option<Shape> {
        let list = shape::option(&self.ty).unwrap_or(&self.ty);
        shape::last_segment(list)
            .and_then(shape::first_argument)
            .map(Shape::of)
    }

    pub(crate) fn named(&self) -> String {
        self.ident.unraw().to_string()
    }
}

impl Method {
    pub(crate) fn receiver(&self) -> Option<&Receiver> {
        self.signature.receiver()
    }
}

/// Takes our attributes away from the item and keeps what they say.
pub(crate) fn build(
    arguments: ToolArguments,
    item: &mut Item,
    errors: &mut Errors,
) -> Option<Tool> {
    match item {
        Item::Fn(function) => Some(from_function(arguments, function, errors)),
        Item::Impl(block) => from_impl(arguments, block, errors),
        other => {
            misplaced(other, errors);
            None
        }
    }
}

fn misplaced(item: &Item, errors: &mut Errors) {
    let (what, at) = match item {
        Item::Struct(item) => ("a struct", item.ident.to_token_stream()),
        Item::Enum(item) => ("an enum", item.ident.to_token_stream()),
        Item::Union(item) => ("a union", item.ident.to_token_stream()),
        Item::Trait(item) => ("a trait", item.ident.to_token_stream()),
        Item::Mod(item) => ("a module", item.ident.to_token_stream()),
        Item::Type(item) => ("a type alias", item.ident.to_token_stream()),
        Item::Const(item) => ("a constant", item.ident.to_token_stream()),
        Item::Static(item) => ("a static", item.ident.to_token_stream()),
        other => ("this", other.to_token_stream()),
    };
    let place = match item {
        Item::Struct(_) | Item::Enum(_) | Item::Union(_) => {
            format!("the block `impl {at} {{ … }}` that has its method `execute`")
        }
        _ => "a function, or on an `impl` block with a method `execute`".to_owned(),
    };
    errors.at(
        &at,
        format!("`#[tool]` does not go on {what}: put it on {place}"),
    );
}

fn from_function(arguments: ToolArguments, item: &mut ItemFn, errors: &mut Errors) -> Tool {
    take_second_attribute(&mut item.attrs, errors);
    let mut params = Vec::new();
    let body = item.block.brace_token.span.open();
    let execute = method(&mut item.sig, body, &mut params, errors);
    let ident = item.sig.ident.unraw();
    let unit = syn::parse_str::<Ident>(&names::unit_type(&ident.to_string()));
    let mut unit = unit.unwrap_or_else(|_| format_ident!("Self_"));
    unit.set_span(item.sig.ident.span());
    let form = Form::Function {
        visibility: item.vis.clone(),
        unit,
    };
    let parts = Parts {
        form,
        ident,
        attributes: &item.attrs,
        described: docs::text(&item.attrs),
        params,
        execute,
        resume: None,
    };
    assemble(arguments, parts, errors)
}

fn from_impl(arguments: ToolArguments, item: &mut ItemImpl, errors: &mut Errors) -> Option<Tool> {
    take_second_attribute(&mut item.attrs, errors);
    if let Some((of, _)) = &item.trait_ {
        errors.at(of, "`#[tool]` does not go on the implementation of a trait: put it on an `impl` block of the type itself");
        return None;
    }
    let ty = (*item.self_ty).clone();
    let mut params = Vec::new();
    let mut execute = None;
    let mut execute_docs = None;
    remove_second(&mut item.items, "execute", errors);
    for found in methods(&mut item.items, "execute") {
        execute_docs = docs::text(&found.attrs);
        let body = found.block.brace_token.span.open();
        execute = Some(method(&mut found.sig, body, &mut params, errors));
    }
    let Some(execute) = execute else {
        execute_missing(item, errors);
        return None;
    };
    let resume = methods(&mut item.items, "resume")
        .next()
        .filter(|found| is_resume(&found.sig))
        .map(|found| {
            let body = found.block.brace_token.span.open();
            resume(&mut found.sig, body, &params, errors)
        });
    let ident = shape::last_segment(&ty)
        .map_or_else(|| format_ident!("_"), |segment| segment.ident.unraw());
    let parts = Parts {
        form: Form::Impl {
            ty: Box::new(ty),
            generics: item.generics.clone(),
        },
        ident,
        attributes: &item.attrs,
        described: execute_docs.or_else(|| docs::text(&item.attrs)),
        params,
        execute,
        resume,
    };
    Some(assemble(arguments, parts, errors))
}

fn execute_missing(item: &mut ItemImpl, errors: &mut Errors) {
    let names = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(found) => Some(&found.sig.ident),
        _ => None,
    });
    let ty = shape::spelling(&item.self_ty);
    let misspelt = names
        .clone()
        .find(|name| closest(&name.to_string(), &["execute"]).is_some());
    match misspelt {
        Some(name) => errors.at(name, format!("`{ty}` has no method `execute`: call this one so")),
        None => errors.at(
            &item.self_ty,
            format!("`{ty}` has no method `execute`: write `async fn execute(&self) {{ … }}` in this block"),
        ),
    }
    strip(&mut item.items);
}

/// The compiler knows none of our attributes.
fn strip(items: &mut [ImplItem]) {
    for item in items {
        let ImplItem::Fn(found) = item else { continue };
        for input in &mut found.sig.inputs {
            if let FnArg::Typed(typed) = input {
                let is_ours = |found: &Attribute| {
                    ["doc", "param", "serde", "schemars"]
                        .iter()
                        .any(|name| found.path().is_ident(name))
                };
                typed.attrs.retain(|found| !is_ours(found));
            }
        }
    }
}

/// The compiler would report the second one once more.
fn remove_second(items: &mut Vec<ImplItem>, name: &str, errors: &mut Errors) {
    let mut is_first = true;
    items.retain(|item| match item {
        ImplItem::Fn(found) if found.sig.ident == name => {
            if !is_first {
                errors.at(
                    &found.sig.ident,
                    format!("a second `{name}`: a tool has one"),
                );
            }
            std::mem::replace(&mut is_first, false)
        }
        _ => true,
    });
}

fn methods<'a>(
    items: &'a mut [ImplItem],
    name: &'a str,
) -> impl Iterator<Item = &'a mut ImplItemFn> {
    items.iter_mut().filter_map(move |item| match item {
        ImplItem::Fn(found) if found.sig.ident == name => Some(found),
        _ => None,
    })
}

/// A method called `resume` that takes no task is none of our business.
fn is_resume(signature: &Signature) -> bool {
    signature.inputs.iter().any(|input| match input {
        FnArg::Typed(typed) => {
            pattern_name(&typed.pat).is_some_and(|name| name == "task" || name == "_task")
        }
        FnArg::Receiver(_) => false,
    })
}

fn take_second_attribute(attributes: &mut Vec<Attribute>, errors: &mut Errors) {
    attributes.retain(|attribute| {
        let segments = &attribute.path().segments;
        let is_ours = segments.last().is_some_and(|last| last.ident == "tool");
        if is_ours {
            errors.at(attribute, "a second `#[tool]`: put everything into one");
        }
        !is_ours
    });
}

/// What the two forms have in common.
struct Parts<'a> {
    form: Form,
    ident: Ident,
    attributes: &'a [Attribute],
    described: Option<Text>,
    params: Vec<Param>,
    execute: Method,
    resume: Option<Method>,
}

fn assemble(arguments: ToolArguments, parts: Parts<'_>, errors: &mut Errors) -> Tool {
    let Parts {
        form,
        ident,
        attributes,
        described,
        mut params,
        execute,
        resume,
    } = parts;
    if let Form::Impl { ty, .. } = &form {
        for param in &mut params {
            selfless::replace(&mut param.ty, ty);
        }
    }
    let named = |name: &'static str| {
        let found = attributes
            .iter()
            .filter(|found| found.path().is_ident(name));
        found.cloned().collect()
    };
    let name = match &arguments.name {
        Some(literal) => Name {
            text: literal.value(),
            span: literal.span(),
        },
        None => Name {
            text: names::tool(&ident.to_string()),
            span: ident.span(),
        },
    };
    let description = match &arguments.description {
        Some(expression) => Some(text(expression)),
        None => described,
    };
    Tool {
        gates: named("cfg"),
        shared: shared(attributes),
        docs: named("doc"),
        runtime: runtime::path(arguments.krate.as_ref()),
        schema: arguments
            .schema
            .as_ref()
            .and_then(|schema| written::load(schema, errors)),
        form,
        name,
        description,
        params,
        execute,
        resume,
        arguments,
    }
}

/// Calling what is deprecated is a warning, and the tool of it does.
fn shared(attributes: &[Attribute]) -> Vec<Attribute> {
    let is_deprecated = |found: &Attribute| found.path().is_ident("deprecated");
    let allowed = attributes
        .iter()
        .filter(|found| found.path().is_ident("allow"));
    let deprecated = attributes.iter().find(|found| is_deprecated(found));
    let quiet = deprecated.map(|_| parse_quote!(#[allow(deprecated)]));
    allowed.cloned().chain(quiet).collect()
}

pub(crate) fn text(expression: &Expr) -> Text {
    match docs::literal(docs::ungroup(expression)) {
        Some(text) => Text::Literal(text),
        None => Text::Expression(expression.to_token_stream()),
    }
}
