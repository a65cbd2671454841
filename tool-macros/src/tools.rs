//! `tools![…]`: the set, and a check that no two of its types have the same name.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprPath, Path, Token};

use crate::docs::ungroup;
use crate::expand::spread;

pub(crate) struct Tools {
    krate: Path,
    tools: Punctuated<Expr, Token![,]>,
}

impl Parse for Tools {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let krate = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        Ok(Tools {
            krate,
            tools: Punctuated::parse_terminated(input)?,
        })
    }
}

pub(crate) fn expand(Tools { krate, tools }: &Tools) -> TokenStream {
    let p = quote!(#krate::__private);
    let types: Vec<&Path> = tools.iter().filter_map(unit_type).collect();
    let checks = types.iter().enumerate().skip(1).map(|(index, ty)| {
        let others = types.iter().take(index);
        let name = quote!(#p::NameProbe::<#ty>::NAME);
        let span = Span::mixed_site().located_at(ty.segments.last().map_or_else(Span::call_site, |last| last.ident.span()));
        quote_spanned! {span=>
            const _: () = ::core::assert!(
                !p::is_among(#name, &[#(p::NameProbe::<#others>::NAME),*]),
                "duplicate tool name: an earlier tool of this list has the same one, and a model could not tell them apart"
            );
        }
    });
    let checks = if types.len() > 1 {
        quote! {
            {
                use #p::{self as p, NoName as _};
                #(#checks)*
            }
        }
    } else {
        TokenStream::new()
    };
    let tools = tools.iter().map(|tool| {
        let tokens = tool.to_token_stream();
        let made = spread(quote!(#p::Arc::new), &tokens);
        quote!({ let tool: #p::Arc<dyn #p::Tool> = #made(#tool); tool })
    });
    quote! {
        {
            #checks
            #krate::ToolSet::from_tools(#p::vec![#(#tools),*])
        }
    }
}

/// The type of an expression such as `Weather` or `tools::Weather`: a unit struct, as far as its spelling tells.
fn unit_type(expression: &Expr) -> Option<&Path> {
    let Expr::Path(ExprPath {
        qself: None, path, ..
    }) = ungroup(expression)
    else {
        return None;
    };
    let mut segments = path.segments.iter().rev();
    let last = segments.next()?.ident.to_string();
    let is_type = last.chars().next().is_some_and(char::is_uppercase)
        && last.chars().any(char::is_lowercase)
        && last != "Self";
    // `Kind::Variant` is a value, but not a type.
    let is_in_module = segments.next().is_none_or(|module| {
        module
            .ident
            .to_string()
            .starts_with(|first: char| first.is_lowercase() || first == '$')
    });
    (is_type && is_in_module).then_some(path)
}
