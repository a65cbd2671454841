//! What a type's spelling says about its JSON.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, PathSegment, Type, TypePath, TypeReference};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Boolean,
    Integer,
    Unsigned,
    Float,
    Text,
    List,
    /// Any other type: nothing is known.
    Unknown,
}

impl Shape {
    /// The shape of the type, or of what an `Option` holds.
    pub(crate) fn of(ty: &Type) -> Self {
        let ty = plain(ty);
        if let Some(inner) = option(ty) {
            return Shape::of(inner);
        }
        if is_str(ty) {
            return Shape::Text;
        }
        let Some(segment) = last_segment(ty) else {
            return match ty {
                Type::Array(_) => Shape::List,
                _ => Shape::Unknown,
            };
        };
        let name = segment.ident.to_string();
        match name.as_str() {
            "Vec" | "VecDeque" | "HashSet" | "BTreeSet" => Shape::List,
            _ if !segment.arguments.is_none() => Shape::Unknown,
            "bool" => Shape::Boolean,
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => Shape::Integer,
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => Shape::Unsigned,
            "f32" | "f64" => Shape::Float,
            "String" => Shape::Text,
            _ => Shape::Unknown,
        }
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Shape::Integer | Shape::Unsigned | Shape::Float)
    }

    /// The word of JSON Schema.
    pub(crate) fn word(self) -> Option<&'static str> {
        Some(match self {
            Shape::Boolean => "boolean",
            Shape::Integer | Shape::Unsigned => "integer",
            Shape::Float => "number",
            Shape::Text => "string",
            Shape::List => "array",
            Shape::Unknown => return None,
        })
    }

    /// Whether a value that JSON Schema calls `word` can be one of these.
    pub(crate) fn accepts(self, word: &str) -> bool {
        match self {
            Shape::Float => matches!(word, "number" | "integer"),
            _ => self.word().is_none_or(|own| own == word),
        }
    }
}

/// Without the parentheses and the invisible groups of `macro_rules!`.
pub(crate) fn plain(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            other => return other,
        };
    }
}

pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match plain(ty) {
        Type::Path(TypePath {
            qself: None, path, ..
        }) => path.segments.last(),
        _ => None,
    }
}

/// The type arguments: `T` and `E` of `Result<T, E>`.
pub(crate) fn arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

pub(crate) fn first_argument(segment: &PathSegment) -> Option<&Type> {
    arguments(segment).first().copied()
}

pub(crate) fn option(ty: &Type) -> Option<&Type> {
    last_segment(ty)
        .filter(|segment| segment.ident == "Option")
        .and_then(first_argument)
}

/// `&str`, without a lifetime that would have to outlive the call.
pub(crate) fn is_str(ty: &Type) -> bool {
    match plain(ty) {
        Type::Reference(TypeReference {
            lifetime,
            mutability: None,
            elem,
            ..
        }) => {
            let is_elided = lifetime
                .as_ref()
                .is_none_or(|lifetime| lifetime.ident == "_");
            is_elided && matches!(plain(elem), Type::Path(path) if path.path.is_ident("str"))
        }
        _ => false,
    }
}

/// The type as people write it.
pub(crate) fn spelling(ty: &impl ToTokens) -> String {
    let mut text = String::new();
    write(ty.to_token_stream(), &mut text);
    text
}

fn write(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                text.push_str(open);
                write(group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => match punct.as_char() {
                ',' | ';' => {
                    text.push(punct.as_char());
                    text.push(' ');
                }
                '+' | '=' => {
                    text.push(' ');
                    text.push(punct.as_char());
                    text.push(' ');
                }
                other => text.push(other),
            },
            word => {
                if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
            }
        }
    }
}
