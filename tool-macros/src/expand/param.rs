//! A parameter's entry in the table.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{LitStr, Type};

use super::{first_span, located, param_name};
use crate::docs::Text;
use crate::json::{Json, Member, Place, Value};
use crate::model::{self, Param, Passing, Tool};
use crate::parse::{Bound, Default, Range};
use crate::selfless;
use crate::shape::{self, Shape};

pub(super) fn table(tool: &Tool, index: usize, param: &Param) -> TokenStream {
    let p = &tool.runtime;
    let name = param_name(index);
    let ty = stored_type(tool, param);
    let property = &param.property.text;
    let mut value = quote!(<#ty as #p::Parameter>::PARAM.named(#property));
    if let Some(description) = description(param) {
        let description = selfless::written_for(tool, description);
        value.extend(quote!(.describe(#description)));
    }
    if !param.arguments.aliases.is_empty() {
        let aliases = param.arguments.aliases.iter().map(LitStr::value);
        value.extend(quote!(.alias(&[#(#aliases),*])));
    }
    if let Some(default) = default(tool, param) {
        value.extend(quote!(.default(#default)));
    }
    if let Some(json) = default_json(param) {
        value.extend(quote!(.default_json(#json)));
    }
    if let Some(json) = constraints(param) {
        value.extend(quote!(.constrain(#json)));
    }
    if let Some(function) = &param.arguments.read_with {
        let function = selfless::written_for(tool, function);
        value.extend(quote!(.read_with(#function)));
    }
    quote!(static #name: #p::Param<#ty> = #value;)
}

/// What is read from the JSON; a `&str` borrows from it.
fn stored_type(tool: &Tool, param: &Param) -> TokenStream {
    let p = &tool.runtime;
    match param.passing {
        Passing::Owned => param.ty.to_token_stream(),
        Passing::Borrowed => quote!(#p::String),
        Passing::OptionalStr => quote!(#p::Option<#p::String>),
    }
}

fn description(param: &Param) -> Option<Text> {
    match &param.arguments.description {
        Some(expression) => Some(model::text(expression)),
        None => param.arguments.docs.clone(),
    }
}

fn default(tool: &Tool, param: &Param) -> Option<TokenStream> {
    let (key, default) = param.arguments.default.as_ref()?;
    let span = located(key.span());
    let value = match default {
        Default::Trait => return Some(quote_spanned!(span=> ::core::default::Default::default)),
        Default::Function(path) => {
            let span = located(first_span(path));
            quote_spanned!(span=> #path())
        }
        Default::Expression(expression) => expression.to_token_stream(),
    };
    let value = selfless::written_for(tool, value);
    let is_text = param
        .default_json()
        .is_some_and(|(json, _)| json.text().is_some());
    if is_text && param.shape == Shape::Text {
        let text = quote!(::core::convert::From::from(#value));
        return Some(match shape::option(&param.ty) {
            Some(_) => quote!(|| ::core::option::Option::Some(#text)),
            None => quote!(|| #text),
        });
    }
    Some(quote!(|| #value))
}

fn default_json(param: &Param) -> Option<String> {
    match &param.arguments.default {
        Some((_, Default::Trait)) if !is_option(&param.ty) => {
            param.shape.default_json().map(str::to_owned)
        }
        _ => param.default_json().map(|(json, _)| json.render()),
    }
}

fn is_option(ty: &Type) -> bool {
    shape::option(ty).is_some()
}

/// Members of the property's schema. The runtime, which knows the schema's type, makes the right pair of `length`.
fn constraints(param: &Param) -> Option<String> {
    let arguments = &param.arguments;
    let mut members = Vec::new();
    if let Some((_, range)) = &arguments.range {
        bounds(range, param.shape, &mut members);
    }
    if let Some((_, length)) = &arguments.length {
        let mut ends = Vec::new();
        if let Some(low) = &length.low {
            ends.push(member("min", low.json.value.clone()));
        }
        if let Some(high) = &length.high {
            ends.push(member("max", closed(high, length)));
        }
        members.push(member("length", Value::Object(ends)));
    }
    if let Some((_, pattern)) = &arguments.pattern {
        members.push(member("pattern", Value::String(pattern.value())));
    }
    if !arguments.examples.is_empty() {
        let examples = arguments.examples.iter().map(|(_, json)| json.clone());
        members.push(member("examples", Value::Array(examples.collect())));
    }
    (!members.is_empty()).then(|| json(Value::Object(members)).render())
}

fn bounds(range: &Range, shape: Shape, members: &mut Vec<Member>) {
    if let Some(low) = &range.low {
        members.push(member("minimum", low.json.value.clone()));
    }
    let Some(high) = &range.high else {
        return;
    };
    let has_float = [&range.low, &range.high]
        .into_iter()
        .flatten()
        .any(|bound| bound.is_float);
    if range.is_inclusive {
        members.push(member("maximum", high.json.value.clone()));
    } else if has_float || shape == Shape::Float {
        members.push(member("exclusiveMaximum", high.json.value.clone()));
    } else {
        members.push(member("maximum", closed(high, range)));
    }
}

/// The last whole number of the range.
fn closed(high: &Bound, range: &Range) -> Value {
    match &high.json.value {
        Value::Number(digits) if !range.is_inclusive => {
            let last = digits.parse::<i128>().map(|end| (end - 1).to_string());
            Value::Number(last.unwrap_or_else(|_| digits.clone()))
        }
        value => value.clone(),
    }
}

fn member(key: &str, value: Value) -> Member {
    Member {
        key: key.to_owned(),
        place: Place::Line(0),
        json: json(value),
    }
}

fn json(value: Value) -> Json {
    Json {
        value,
        place: Place::Line(0),
    }
}
