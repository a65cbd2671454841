//! Doc comments as text for a language model.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// A description: text known here, or an expression that the compiler evaluates.
#[derive(Clone)]
pub(crate) enum Text {
    Literal(String),
    Expression(TokenStream),
}

impl ToTokens for Text {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Text::Literal(text) => text.to_tokens(tokens),
            Text::Expression(expression) => expression.to_tokens(tokens),
        }
    }
}

/// The text of the `#[doc = …]` attributes among `attributes`, if there is any.
pub(crate) fn text(attributes: &[Attribute]) -> Option<Text> {
    let values: Vec<&Expr> = attributes.iter().filter_map(value).collect();
    let literals: Option<Vec<String>> = values.iter().map(|value| literal(value)).collect();
    match literals {
        Some(lines) => {
            let text = unindent(&lines.join("\n"));
            (!text.is_empty()).then_some(Text::Literal(text))
        }
        None => Some(Text::Expression(concatenation(&values))),
    }
}

fn value(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(ungroup(&pair.value)),
        _ => None,
    }
}

/// Fragments of `macro_rules!` arrive in invisible groups.
pub(crate) fn ungroup(mut expression: &Expr) -> &Expr {
    while let Expr::Group(group) = expression {
        expression = &group.expr;
    }
    expression
}

pub(crate) fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// `include_str!`, `concat!` and the like are expanded by `concat!` itself.
fn concatenation(values: &[&Expr]) -> TokenStream {
    if let [value] = values {
        return value.to_token_stream();
    }
    let mut parts = TokenStream::new();
    for (index, value) in values.iter().enumerate() {
        let separator = if index == 0 { "" } else { "\n" };
        match literal(value) {
            Some(text) => {
                let line = format!("{separator}{}", text.strip_prefix(' ').unwrap_or(&text));
                parts.extend(quote!(#line,));
            }
            None => parts.extend(quote!(#separator, #value,)),
        }
    }
    quote!(::core::concat!(#parts))
}

/// Takes away the indentation that all lines share, the stars of a block comment, and blank lines at both ends.
fn unindent(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let is_starred = |line: &&str| line.is_empty() || line.trim_start().starts_with('*');
    if lines.len() > 1 && lines.iter().skip(1).all(is_starred) && text.contains("\n *") {
        for line in lines.iter_mut().skip(1) {
            *line = line.trim_start().strip_prefix('*').unwrap_or(line);
        }
    }
    let shared = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(shared..).unwrap_or(""))
        .collect();
    lines.join("\n").trim_matches('\n').to_owned()
}
