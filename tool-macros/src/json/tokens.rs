//! JSON literals among Rust tokens.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, Lit, LitStr, Token, UnOp, braced, bracketed, token};

use super::{Json, Member, Place, Value};
use crate::docs::ungroup;

impl Parse for Json {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        let (value, span) = if input.peek(token::Brace) {
            object(input)?
        } else if input.peek(token::Bracket) {
            array(input)?
        } else if input.peek(Token![-]) {
            input.parse::<Token![-]>()?;
            let value = match scalar(&input.parse()?)? {
                Value::Number(number) => Value::Number(format!("-{number}")),
                _ => return Err(syn::Error::new(span, "expected a number after `-`")),
            };
            (value, span)
        } else if input.peek(Lit) {
            (scalar(&input.parse()?)?, span)
        } else if input.peek(Ident) {
            (word(&input.parse()?)?, span)
        } else {
            return Err(syn::Error::new(span, EXPECTED));
        };
        Ok(Json {
            value,
            place: Place::Token(span),
        })
    }
}

const EXPECTED: &str =
    "expected JSON: an object, an array, a string, a number, `true`, `false` or `null`";

fn object(input: ParseStream<'_>) -> syn::Result<(Value, Span)> {
    let content;
    let brace = braced!(content in input);
    let mut members: Vec<Member> = Vec::new();
    while !content.is_empty() {
        let key = key(&content)?;
        if members.iter().any(|member| member.key == key.value()) {
            let message = format!("`{}` is written twice in this object", key.value());
            return Err(syn::Error::new(key.span(), message));
        }
        if !content.peek(Token![:]) {
            let message = format!("expected `:` and a value after `\"{}\"`", key.value());
            return Err(syn::Error::new(key.span(), message));
        }
        content.parse::<Token![:]>()?;
        if content.is_empty() {
            let message = format!("`\"{}\":` has no value", key.value());
            return Err(syn::Error::new(key.span(), message));
        }
        members.push(Member {
            key: key.value(),
            place: Place::Token(key.span()),
            json: content.parse()?,
        });
        comma(&content, '}')?;
    }
    Ok((Value::Object(members), brace.span.join()))
}

fn key(content: ParseStream<'_>) -> syn::Result<LitStr> {
    if content.peek(Ident) {
        let word: Ident = content.parse()?;
        let message = format!("keys of JSON are quoted: write `\"{word}\"`");
        return Err(syn::Error::new(word.span(), message));
    }
    content
        .parse()
        .map_err(|error| syn::Error::new(error.span(), "expected a key in double quotes"))
}

fn array(input: ParseStream<'_>) -> syn::Result<(Value, Span)> {
    let content;
    let bracket = bracketed!(content in input);
    let mut items = Vec::new();
    while !content.is_empty() {
        items.push(content.parse()?);
        comma(&content, ']')?;
    }
    Ok((Value::Array(items), bracket.span.join()))
}

fn comma(content: ParseStream<'_>, end: char) -> syn::Result<()> {
    if content.is_empty() {
        return Ok(());
    }
    content
        .parse::<Token![,]>()
        .map(|_| ())
        .map_err(|error| syn::Error::new(error.span(), format!("expected `,` or `{end}`")))
}

fn scalar(literal: &Lit) -> syn::Result<Value> {
    let suffix = match literal {
        Lit::Int(number) => number.suffix(),
        Lit::Float(number) => number.suffix(),
        _ => "",
    };
    if !suffix.is_empty() {
        let message = format!("numbers of JSON have no type: leave out `{suffix}`");
        return Err(syn::Error::new(literal.span(), message));
    }
    match literal {
        Lit::Str(text) => Ok(Value::String(text.value())),
        Lit::Bool(value) => Ok(Value::Bool(value.value)),
        Lit::Int(number) => Ok(Value::Number(number.base10_digits().to_owned())),
        Lit::Float(number) => Ok(Value::Number(decimal(number.base10_digits()))),
        other => Err(syn::Error::new(other.span(), EXPECTED)),
    }
}

/// `1.` is a number of Rust, but not of JSON.
pub(crate) fn decimal(digits: &str) -> String {
    if digits.ends_with('.') {
        format!("{digits}0")
    } else {
        digits.to_owned()
    }
}

fn word(word: &Ident) -> syn::Result<Value> {
    if word == "null" {
        return Ok(Value::Null);
    }
    let message = if word == "None" || word == "nil" {
        "write `null`".to_owned()
    } else {
        format!("`{word}` is not JSON: a string is written `\"{word}\"`")
    };
    Err(syn::Error::new(word.span(), message))
}

impl Json {
    /// The value of an expression that is a literal.
    pub(crate) fn from_literal(expression: &Expr) -> Option<Json> {
        let place = Place::Token(Span::call_site());
        let value = match ungroup(expression) {
            Expr::Lit(literal) => unsuffixed(&literal.lit)?,
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                match Json::from_literal(&unary.expr)?.value {
                    Value::Number(number) => Value::Number(format!("-{number}")),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Json { value, place })
    }
}

fn unsuffixed(literal: &Lit) -> Option<Value> {
    Some(match literal {
        Lit::Str(text) => Value::String(text.value()),
        Lit::Char(letter) => Value::String(letter.value().to_string()),
        Lit::Bool(value) => Value::Bool(value.value),
        Lit::Int(number) => Value::Number(number.base10_digits().to_owned()),
        Lit::Float(number) => Value::Number(decimal(number.base10_digits())),
        _ => return None,
    })
}
