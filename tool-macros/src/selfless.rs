//! `Self`, spelled out: the tables of a tool stand outside its `impl` block.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Type;

use crate::model::{Form, Tool};

/// Keeps the type as it is when it does not name `Self`.
pub(crate) fn replace(ty: &mut Type, own: &Type) {
    let tokens = ty.to_token_stream();
    if mentions_self(tokens.clone())
        && let Ok(replaced) = syn::parse2(spell_out(tokens, own))
    {
        *ty = replaced;
    }
}

/// What the user wrote in the attributes of the tool, for use outside of its block.
pub(crate) fn written_for(tool: &Tool, tokens: impl ToTokens) -> TokenStream {
    match &tool.form {
        Form::Impl { ty, .. } => spell_out(tokens.into_token_stream(), ty),
        Form::Function { .. } => tokens.into_token_stream(),
    }
}

fn spell_out(tokens: TokenStream, own: &Type) -> TokenStream {
    let mut spelled = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "Self" => match tokens.peek() {
                Some(TokenTree::Punct(punct)) if punct.as_char() == ':' => {
                    spelled.extend(quote!(<#own>));
                }
                _ => own.to_tokens(&mut spelled),
            },
            TokenTree::Group(group) => {
                let mut replaced = Group::new(group.delimiter(), spell_out(group.stream(), own));
                replaced.set_span(group.span());
                spelled.extend([TokenTree::Group(replaced)]);
            }
            other => spelled.extend([other]),
        }
    }
    spelled
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => false,
    })
}
