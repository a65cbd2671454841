//! The `#[tool]` attribute of `tool-core`.

mod check;
mod docs;
mod errors;
mod expand;
mod fallback;
mod json;
mod model;
mod names;
mod parse;
mod runtime;
mod selfless;
mod shape;
mod tools;
mod written;

use proc_macro::TokenStream;

use errors::Errors;

/// Makes a tool that a language model can call.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expansion = pipeline(arguments.into(), item.into());
    if std::env::var_os("TOOL_MACROS_PRINT").is_some() {
        eprintln!("{expansion}");
    }
    expansion.into()
}

fn pipeline(
    arguments: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let arguments = parse::tool(arguments, &mut errors);
    let mut parsed = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = error.into_compile_error();
            return quote::quote!(#error #item);
        }
    };
    let tool = model::build(arguments, &mut parsed, &mut errors);
    if let Some(tool) = &tool {
        check::all(tool, &mut errors);
    }
    match (errors.finish(), tool) {
        (Ok(()), Some(tool)) => expand::tool(&parsed, &tool),
        (Ok(()), None) => item,
        (Err(errors), tool) => fallback::item(&errors, &parsed, tool.as_ref()),
    }
}

/// The set of `tool_core::tools!`.
#[doc(hidden)]
#[proc_macro]
pub fn tools_impl(tokens: TokenStream) -> TokenStream {
    let tools = syn::parse_macro_input!(tokens as tools::Tools);
    tools::expand(&tools).into()
}
