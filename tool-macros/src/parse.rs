//! The grammar of the attributes. It reads what is written; whether that makes sense is for the checks to say.

mod duration;
mod param;
mod range;
mod tool;

use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Lit, LitBool, Token, token};

use crate::errors::{Errors, choices, list};
use crate::json::Json;

pub(crate) use param::{Default, ParamArguments, parameter};
pub(crate) use range::{Bound, Range};
pub(crate) use tool::{Approval, Schema, Spill, ToolArguments, tool};

/// A key of an attribute.
struct Word {
    name: &'static str,
    /// What its value is.
    takes: &'static str,
    /// How it is written.
    usage: &'static str,
    repeats: bool,
}

impl Word {
    const fn new(name: &'static str, takes: &'static str, usage: &'static str) -> Self {
        Word {
            name,
            takes,
            usage,
            repeats: false,
        }
    }

    const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    fn misused(&self, span: proc_macro2::Span) -> syn::Error {
        let Word {
            name, takes, usage, ..
        } = self;
        syn::Error::new(span, format!("`{name}` takes {takes}: write `{usage}`"))
    }

    fn equals(&self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        if !input.peek(Token![=]) {
            return Err(self.misused(key.span()));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            return Err(self.misused(key.span()));
        }
        Ok(())
    }

    /// `= value`
    fn value<T: Parse>(&self, key: &Ident, input: ParseStream<'_>) -> syn::Result<T> {
        self.equals(key, input)?;
        let span = input.span();
        input.parse().map_err(|_| self.misused(span))
    }

    /// `= json`
    fn json(&self, key: &Ident, input: ParseStream<'_>) -> syn::Result<Json> {
        self.equals(key, input)?;
        input.parse()
    }

    /// Nothing, `= true` or `= false`
    fn flag(&self, key: &Ident, input: ParseStream<'_>) -> syn::Result<bool> {
        if !input.peek(Token![=]) {
            return Ok(true);
        }
        self.value::<LitBool>(key, input).map(|value| value.value)
    }
}

/// Reads `key …, key …` and goes on after a mistake, so that all of them are reported.
fn words(
    attribute: &str,
    known: &[Word],
    seen: &mut Vec<String>,
    input: ParseStream<'_>,
    errors: &mut Errors,
    each: &mut dyn FnMut(&Word, &Ident, ParseStream<'_>) -> syn::Result<()>,
) {
    while !input.is_empty() {
        let word = word(attribute, known, seen, input);
        if let Err(error) = word.and_then(|(word, key)| each(word, &key, input)) {
            errors.push(error);
            skip(input);
        } else if !input.is_empty() && !input.peek(Token![,]) {
            errors.on(input.span(), "expected `,`");
            skip(input);
        }
        _ = input.parse::<Token![,]>();
    }
}

fn word<'a>(
    attribute: &str,
    known: &'a [Word],
    seen: &mut Vec<String>,
    input: ParseStream<'_>,
) -> syn::Result<(&'a Word, Ident)> {
    let names: Vec<&str> = known.iter().map(|word| word.name).collect();
    if !input.peek(Ident::peek_any) || input.peek(LitBool) {
        let all = list(names);
        let message = if input.peek(Lit) {
            format!("a value without a key: write `description = …`, or another of {all}")
        } else {
            format!("expected one of {all}")
        };
        return Err(syn::Error::new(input.span(), message));
    }
    let key = Ident::parse_any(input)?;
    let text = key.unraw().to_string();
    let Some(word) = known.iter().find(|word| word.name == text) else {
        let end = choices(&text, "it takes", &names);
        let message = format!("{attribute} has no key `{text}`{end}");
        return Err(syn::Error::new(key.span(), message));
    };
    if seen.contains(&text) && !word.repeats {
        let message = format!("`{text}` is given twice: keep one of them");
        return Err(syn::Error::new(key.span(), message));
    }
    seen.push(text);
    Ok((word, key))
}

/// To the next comma, which may be inside the angle brackets of a type, but then the type was wrong anyway.
fn skip(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        _ = input.parse::<proc_macro2::TokenTree>();
    }
}

fn is_json_container(input: ParseStream<'_>) -> bool {
    input.peek(token::Brace) || input.peek(token::Bracket)
}
