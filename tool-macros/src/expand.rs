//! A checked tool as code. Nothing can fail here.

mod attributes;
mod call;
mod param;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Item;

use crate::docs::Text;
use crate::model::{Form, Tool};
use crate::shape::Shape;
use crate::written::Schema;

pub(crate) fn tool(item: &Item, tool: &Tool) -> TokenStream {
    let unit = unit_type(tool);
    let (gates, shared) = (&tool.gates, &tool.shared);
    let params = tool
        .params
        .iter()
        .enumerate()
        .map(|(index, param)| param::table(tool, index, param));
    let definition = definition(tool);
    let implementation = call::implementation(tool);
    let named = named(tool);
    let tracked = tracked_file(tool);
    let task = call::refuses_task(tool);
    quote! {
        #item
        #unit
        #(#gates)*
        #(#shared)*
        const _: () = {
            #tracked
            #task
            #(#params)*
            #definition
            #implementation
            #named
        };
    }
}

/// The type that a function's tool is.
pub(crate) fn unit_type(tool: &Tool) -> TokenStream {
    let Form::Function { visibility, unit } = &tool.form else {
        return TokenStream::new();
    };
    let (gates, shared) = (&tool.gates, &tool.shared);
    let docs = match tool.docs.as_slice() {
        [] => {
            let line = format!("The tool `{}`.", tool.name.text);
            quote!(#[doc = #line])
        }
        docs => quote!(#(#docs)*),
    };
    quote! {
        #(#gates)*
        #(#shared)*
        #docs
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::default::Default)]
        #visibility struct #unit;
    }
}

/// The type that implements the runtime's traits.
pub(crate) fn tool_type(tool: &Tool) -> TokenStream {
    match &tool.form {
        Form::Function { unit, .. } => unit.to_token_stream(),
        Form::Impl { ty, .. } => ty.to_token_stream(),
    }
}

pub(crate) fn named(tool: &Tool) -> TokenStream {
    let (p, ty, name) = (&tool.runtime, tool_type(tool), &tool.name.text);
    quote! {
        #[automatically_derived]
        impl #p::Named for #ty {
            const NAME: &'static str = #name;
        }
    }
}

fn definition(tool: &Tool) -> TokenStream {
    let p = &tool.runtime;
    let name = &tool.name.text;
    let description = tool
        .description
        .clone()
        .unwrap_or_else(|| Text::Literal(String::new()));
    let params = (0..tool.params.len()).map(param_name);
    let schema = match &tool.schema {
        None => quote!(#p::SchemaSource::Inferred),
        Some(Schema::Type(ty)) => {
            let span = located(first_span(ty));
            quote_spanned!(span=> #p::SchemaSource::Type(#p::schema_of::<#ty>))
        }
        Some(Schema::Json(json, _)) => {
            let text = json.render();
            quote!(#p::SchemaSource::Json(#text))
        }
    };
    let attributes = attributes::value(tool);
    let definition = definition_name();
    quote! {
        static #definition: #p::LazyDefinition = #p::LazyDefinition::new(&#p::Spec {
            name: #name,
            description: #description,
            params: &[#(&#params),*],
            schema: #schema,
            attributes: #attributes,
        });
    }
}

/// Makes the compiler look again when the schema's file changes.
fn tracked_file(tool: &Tool) -> TokenStream {
    let Some(Schema::Json(_, origin)) = &tool.schema else {
        return TokenStream::new();
    };
    match origin.file() {
        Some(file) => {
            let path = file.path.to_string_lossy();
            quote!(
                const _: &[u8] = ::core::include_bytes!(#path);
            )
        }
        None => TokenStream::new(),
    }
}

fn definition_name() -> Ident {
    format_ident!("__TOOL_DEFINITION")
}

fn param_name(index: usize) -> Ident {
    format_ident!("__TOOL_PARAM_{index}")
}

/// A local of the generated code, which no name of the user can be.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Generated code that errors shall show at a place that the user wrote.
fn located(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

fn first_span(tokens: &impl ToTokens) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span())
}

impl Shape {
    /// What `Default::default()` is, as JSON.
    fn default_json(self) -> Option<&'static str> {
        Some(match self {
            Shape::Boolean => "false",
            Shape::Integer | Shape::Unsigned => "0",
            Shape::Float => "0.0",
            Shape::Text => "\"\"",
            Shape::List => "[]",
            Shape::Unknown => return None,
        })
    }
}
