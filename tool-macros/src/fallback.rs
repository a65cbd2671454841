//! What a tool with errors becomes: the errors, the user's item, and a tool that satisfies the rest of the program.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::Item;

use crate::model::{Form, Tool};
use crate::{check, expand};

pub(crate) fn item(errors: &syn::Error, item: &Item, tool: Option<&Tool>) -> TokenStream {
    let errors = errors.to_compile_error();
    let stub = tool.map(stub);
    quote! {
        #errors
        #item
        #stub
    }
}

fn stub(tool: &Tool) -> TokenStream {
    let (unit, ty, generics) = match &tool.form {
        Form::Function { unit, .. } => {
            let is_method = tool.execute.receiver().is_some();
            if is_method || check::clash(tool).is_some() {
                return TokenStream::new();
            }
            (
                expand::unit_type(tool),
                unit.to_token_stream(),
                &syn::Generics::default(),
            )
        }
        Form::Impl { ty, generics } => (TokenStream::new(), ty.to_token_stream(), generics),
    };
    let p = &tool.runtime;
    let gates = &tool.gates;
    let params = &generics.params;
    let clauses = generics
        .where_clause
        .as_ref()
        .map(|clause| &clause.predicates);
    let name = &tool.name.text;
    quote! {
        #unit
        #(#gates)*
        const _: () = {
            #[automatically_derived]
            impl<#params> #p::Tool for #ty
            where
                Self: ::core::marker::Send + ::core::marker::Sync,
                #clauses
            {
                fn definition(&self) -> &#p::ToolDefinition {
                    ::core::unimplemented!()
                }
                fn invoke<'__call>(&'__call self, _: &'__call #p::ToolCall) -> #p::ToolFuture<'__call> {
                    ::core::unimplemented!()
                }
            }
            #[automatically_derived]
            impl<#params> #p::Named for #ty
            where
                #clauses
            {
                const NAME: &'static str = #name;
            }
        };
    }
}
