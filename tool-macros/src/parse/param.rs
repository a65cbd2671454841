//! The attributes of a parameter: `#[param(…)]`, and the words of serde and schemars that mean something there.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, Ident, LitStr, Meta, Path, Token, parenthesized, token};

use super::range::Bound;
use super::{Range, Word, words};
use crate::docs::{self, Text};
use crate::errors::{Errors, list};
use crate::json::Json;

#[derive(Default)]
pub(crate) struct ParamArguments {
    pub(crate) docs: Option<Text>,
    pub(crate) description: Option<Expr>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) default: Option<(Ident, Default)>,
    pub(crate) range: Option<(Ident, Range)>,
    pub(crate) length: Option<(Ident, Range)>,
    pub(crate) pattern: Option<(Ident, LitStr)>,
    pub(crate) examples: Vec<(Ident, Json)>,
    /// The first key that was read.
    pub(crate) first_key: Option<Ident>,
    /// A function of the shape that serde's `deserialize_with` wants.
    pub(crate) read_with: Option<TokenStream>,
}

pub(crate) enum Default {
    /// The type's own.
    Trait,
    Expression(Expr),
    Function(Path),
}

const PARAM: &[Word] = &[
    DEFAULT,
    RENAME,
    ALIAS,
    DESCRIPTION,
    Word::new("range", "a range of numbers", "range = 1..=100"),
    Word::new("length", "a range of whole numbers", "length = 1..=20"),
    PATTERN,
    EXAMPLE,
];

const SERDE: &[Word] = &[
    RENAME,
    ALIAS,
    Word::new(
        "default",
        "nothing or a path in quotes",
        r#"default = "path""#,
    ),
    Word::new(
        "deserialize_with",
        "a path in quotes",
        r#"deserialize_with = "path""#,
    ),
    Word::new("with", "a module in quotes", r#"with = "module""#),
];

const SCHEMARS: &[Word] = &[
    DESCRIPTION,
    Word::new("range", "its ends", "range(min = 1, max = 100)"),
    Word::new("length", "its ends", "length(min = 1, max = 20)"),
    PATTERN,
    Word::new("regex", "a pattern", r#"regex(pattern = "^[a-z]+$")"#),
    EXAMPLE,
];

const RENAME: Word = Word::new("rename", "a string", r#"rename = "q""#);
const ALIAS: Word = Word::new("alias", "a string", r#"alias = "q""#).repeats();
const DEFAULT: Word = Word::new("default", "nothing or an expression", "default = 10");
const DESCRIPTION: Word = Word::new("description", "a constant string", r#"description = "…""#);
const PATTERN: Word = Word::new("pattern", "a regular expression", r#"pattern = "^[a-z]+$""#);
const EXAMPLE: Word = Word::new("example", "a literal or JSON", r#"example = "Berlin""#).repeats();

/// Reads the attributes that are for us and takes them away; the others stay.
pub(crate) fn parameter(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> ParamArguments {
    let mut arguments = ParamArguments {
        docs: docs::text(attributes),
        ..ParamArguments::default()
    };
    let mut seen = Vec::new();
    attributes.retain(|attribute| {
        let path = attribute.path();
        let is_ours = path.is_ident("param");
        let (known, name) = if is_ours {
            (PARAM, "`param`")
        } else if path.is_ident("serde") {
            (SERDE, "on a parameter, `serde`")
        } else if path.is_ident("schemars") {
            (SCHEMARS, "on a parameter, `schemars`")
        } else if path.is_ident("doc") {
            return false;
        } else {
            return !is_misplaced(attribute, errors);
        };
        let Meta::List(list) = &attribute.meta else {
            errors.at(
                attribute,
                format!("{name} takes its keys in parentheses: write `#[param(default = 10)]`"),
            );
            return false;
        };
        let read = |input: ParseStream<'_>| {
            words(
                name,
                known,
                &mut seen,
                input,
                errors,
                &mut |word, key, input| arguments.set(is_ours, word, key, input),
            );
            Ok(())
        };
        // `words` reads to the end and keeps its own errors.
        _ = read.parse2(list.tokens.clone());
        false
    });
    arguments
}

/// `#[default = 10]` and the like, which other libraries have as attributes of their own.
fn is_misplaced(attribute: &Attribute, errors: &mut Errors) -> bool {
    let word = attribute.path().get_ident().map(Ident::to_string);
    let Some(word) = PARAM
        .iter()
        .find(|known| word.as_deref() == Some(known.name))
    else {
        return false;
    };
    let message = format!(
        "`{}` goes into `param`: write `#[param({})]`",
        word.name, word.usage
    );
    errors.at(attribute.path(), message);
    true
}

impl ParamArguments {
    fn set(
        &mut self,
        is_ours: bool,
        word: &Word,
        key: &Ident,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        self.first_key.get_or_insert_with(|| key.clone());
        match word.name {
            "rename" => self.rename = Some(word.value(key, input)?),
            "alias" => self.aliases.push(word.value(key, input)?),
            "description" => self.description = Some(word.value(key, input)?),
            "example" => self.examples.push((key.clone(), word.json(key, input)?)),
            "pattern" => self.pattern = Some((key.clone(), word.value(key, input)?)),
            "regex" => self.pattern = Some((key.clone(), regex(word, key, input)?)),
            "range" if is_ours => self.range = Some((key.clone(), range(word, key, input)?)),
            "length" if is_ours => self.length = Some((key.clone(), range(word, key, input)?)),
            "range" => self.range = Some((key.clone(), ends(word, key, input)?)),
            "length" => self.length = Some((key.clone(), ends(word, key, input)?)),
            "default" => self.default = Some((key.clone(), default(is_ours, word, key, input)?)),
            "with" => {
                let module = path(word, key, input)?;
                self.read_with = Some(quote!(#module::deserialize));
            }
            _ => {
                let function = path(word, key, input)?;
                self.read_with = Some(quote!(#function));
            }
        }
        Ok(())
    }
}

fn range(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Range> {
    word.equals(key, input)?;
    input.parse()
}

fn path(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    let path: LitStr = word.value(key, input)?;
    path.parse().map_err(|_| word.misused(path.span()))
}

fn default(
    is_ours: bool,
    word: &Word,
    key: &Ident,
    input: ParseStream<'_>,
) -> syn::Result<Default> {
    if !input.peek(Token![=]) {
        return Ok(Default::Trait);
    }
    if is_ours {
        word.value(key, input).map(Default::Expression)
    } else {
        path(word, key, input).map(Default::Function)
    }
}

/// `(pattern = "…")`
fn regex(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    if !input.peek(token::Paren) {
        return Err(word.misused(key.span()));
    }
    let content;
    parenthesized!(content in input);
    let misused = |_| word.misused(key.span());
    let inner: Ident = content.parse().map_err(misused)?;
    PATTERN.value(&inner, &content).map_err(misused)
}

/// `(min = 1, max = 10)`, `(equal = 3)`
fn ends(word: &Word, key: &Ident, input: ParseStream<'_>) -> syn::Result<Range> {
    if !input.peek(token::Paren) {
        return Err(word.misused(key.span()));
    }
    let content;
    parenthesized!(content in input);
    let (mut low, mut high) = (None, None);
    while !content.is_empty() {
        let end: Ident = content.parse().map_err(|_| word.misused(content.span()))?;
        word.equals(&end, &content)?;
        let bound = Bound::from_expr(&content.parse()?)?;
        match end.to_string().as_str() {
            "min" => low = Some(bound),
            "max" => high = Some(bound),
            "equal" => {
                low = Some(bound.clone());
                high = Some(bound);
            }
            other => {
                let known = list(["min", "max", "equal"]);
                let message = format!("`{}` has no end `{other}`: it takes {known}", word.name);
                return Err(syn::Error::new(end.span(), message));
            }
        }
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    if low.is_none() && high.is_none() {
        return Err(word.misused(key.span()));
    }
    Ok(Range {
        low,
        high,
        is_inclusive: true,
        tokens: quote!(#key),
    })
}
