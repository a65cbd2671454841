//! A checked tool as code. Nothing can fail here.

mod attributes;
mod call;
mod param;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Item;

use crate::docs::Text;
use crate::model::{Form, Tool};
use crate::selfless;
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
    // A type that is there already is reported at the function.
    let span = located(unit.span());
    let declaration = quote_spanned!(span=> #visibility struct #unit;);
    quote! {
        #(#gates)*
        #(#shared)*
        #docs
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::default::Default)]
        #declaration
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
    let description = selfless::written_for(tool, description);
    let params = (0..tool.params.len()).map(param_name);
    let schema = match &tool.schema {
        None => quote!(#p::SchemaSource::Inferred),
        Some(Schema::Type(ty)) => {
            let ty = selfless::written_for(tool, ty);
            quote!(#p::SchemaSource::Type(<#ty as #p::JsonSchema>::json_schema))
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

/// The same for code that holds nothing of the user's; each token keeps what it refers to.
fn locate(tokens: TokenStream, span: Span) -> TokenStream {
    let moved = tokens.into_iter().map(|mut token| {
        let place = token.span().located_at(span);
        if let TokenTree::Group(group) = &token {
            let stream = locate(group.stream(), span);
            token = TokenTree::Group(Group::new(group.delimiter(), stream));
        }
        token.set_span(place);
        token
    });
    moved.collect()
}

/// From the first token of `over` to its last, so that an error underlines all of it.
pub(crate) fn spread(tokens: TokenStream, over: &TokenStream) -> TokenStream {
    let last = over.clone().into_iter().last().map(|token| token.span());
    let mut moved: Vec<TokenTree> = locate(tokens, first_span(over)).into_iter().collect();
    if let (Some(token), Some(last)) = (moved.last_mut(), last) {
        token.set_span(token.span().located_at(last));
    }
    moved.into_iter().collect()
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
