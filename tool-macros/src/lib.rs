//! The `#[tool]` attribute.
use proc_macro::TokenStream;

/// stub
#[proc_macro_attribute]
pub fn tool(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// stub
#[proc_macro]
pub fn tools_impl(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
