//! What `#[param(…)]` says about a value, against the value's type.

use crate::errors::Errors;
use crate::json::Json;
use crate::model::Param;
use crate::parse::{Default, Range};
use crate::shape::{Shape, spelling};

pub(super) const RULES: &[fn(&Param, &mut Errors)] =
    &[range, length, pattern, examples, default, description];

fn range(param: &Param, errors: &mut Errors) {
    let Some((key, range)) = &param.arguments.range else {
        return;
    };
    let is_number = param.shape.is_number() || param.shape == Shape::Unknown;
    if !is_number {
        let advice = match param.shape {
            Shape::Text | Shape::List => "`length = …` limits this one",
            _ => "leave it out",
        };
        let ty = spelling(&param.ty);
        errors.at(
            key,
            format!("`range` limits numbers, and this is a `{ty}`: {advice}"),
        );
        return;
    }
    is_ordered(range, errors);
    let low = range
        .low
        .as_ref()
        .filter(|_| param.shape == Shape::Unsigned);
    if low.is_some_and(|low| low.number() < 0.0) {
        let ty = spelling(&param.ty);
        errors.at(
            &range.tokens,
            format!("a `{ty}` is never negative: start the range at 0"),
        );
    }
    let is_integer = matches!(param.shape, Shape::Integer | Shape::Unsigned);
    let has_float = [&range.low, &range.high]
        .into_iter()
        .flatten()
        .any(|bound| bound.is_float);
    if is_integer && has_float {
        let ty = spelling(&param.ty);
        errors.at(
            &range.tokens,
            format!("a `{ty}` is a whole number: write whole ends"),
        );
    }
    let literal = param.default_json();
    if let Some((json, expression)) = literal
        && let Some(number) = json.number()
        && !contains(range, number)
    {
        errors.at(
            expression,
            format!("the default {} is outside of the range", json.render()),
        );
    }
}

fn contains(range: &Range, number: f64) -> bool {
    let above = range.low.as_ref().is_none_or(|low| number >= low.number());
    let below = range.high.as_ref().is_none_or(|high| {
        number < high.number() || (range.is_inclusive && number == high.number())
    });
    above && below
}

fn is_ordered(range: &Range, errors: &mut Errors) {
    let (Some(low), Some(high)) = (&range.low, &range.high) else {
        return;
    };
    let is_empty = if range.is_inclusive {
        low.number() > high.number()
    } else {
        low.number() >= high.number()
    };
    if is_empty {
        errors.at(
            &range.tokens,
            "nothing is in this range: write the smaller end first",
        );
    }
}

fn length(param: &Param, errors: &mut Errors) {
    let Some((key, length)) = &param.arguments.length else {
        return;
    };
    if param.shape.is_number() || param.shape == Shape::Boolean {
        let advice = if param.shape.is_number() {
            "`range = …` limits this one"
        } else {
            "leave it out"
        };
        let ty = spelling(&param.ty);
        errors.at(
            key,
            format!("`length` limits texts and lists, and this is a `{ty}`: {advice}"),
        );
        return;
    }
    is_ordered(length, errors);
    let ends = [&length.low, &length.high];
    if ends
        .into_iter()
        .flatten()
        .any(|end| end.is_float || end.number() < 0.0)
    {
        errors.at(
            &length.tokens,
            "a length is a whole number and never negative: write a range such as `1..=20`",
        );
        return;
    }
    if let Some((json, expression)) = param.default_json()
        && let Some(text) = json.text()
        && !contains(length, text.chars().count() as f64)
    {
        errors.at(
            expression,
            format!(
                "the default has {} characters, which its length does not allow",
                text.chars().count()
            ),
        );
    }
}

fn pattern(param: &Param, errors: &mut Errors) {
    let Some((key, pattern)) = &param.arguments.pattern else {
        return;
    };
    if !matches!(param.shape, Shape::Text | Shape::Unknown) {
        let ty = spelling(&param.ty);
        errors.at(
            key,
            format!("`pattern` limits texts, and this is a `{ty}`: leave it out"),
        );
    } else if pattern.value().is_empty() {
        errors.at(pattern, "an empty pattern allows everything: leave it out");
    } else if let Some(fault) = regex_fault(&pattern.value()) {
        errors.at(pattern, format!("this is no regular expression: {fault}"));
    }
}

/// What is wrong with a regular expression. What JSON Schema (ECMA 262) has and our engine has not is
/// not wrong: look-around, classes of Unicode, and references back.
fn regex_fault(pattern: &str) -> Option<String> {
    let fault = regex_lite::Regex::new(pattern).err()?;
    let foreign = [
        "(?=", "(?!", "(?<", r"\p", r"\P", r"\u", r"\c", r"\k", r"\1", r"\2",
    ];
    let is_foreign = foreign.iter().any(|part| pattern.contains(part));
    (!is_foreign).then(|| fault.to_string())
}

fn examples(param: &Param, errors: &mut Errors) {
    for (key, json) in &param.arguments.examples {
        let kind = json.kind();
        let is_null = kind == "null" && param.is_optional();
        if !is_null && !param.shape.accepts(kind) {
            let ty = spelling(&param.ty);
            errors.at(
                key,
                format!(
                    "this example is {}, and the parameter is a `{ty}`: write one that fits",
                    json.described()
                ),
            );
        } else if let (Some((_, range)), Some(number)) = (&param.arguments.range, json.number())
            && !contains(range, number)
        {
            errors.at(
                key,
                format!("the example {} is outside of the range", json.render()),
            );
        }
    }
}

fn default(param: &Param, errors: &mut Errors) {
    if let Some((key, Default::Expression(expression))) = &param.arguments.default
        && quote::ToTokens::to_token_stream(expression).to_string() == "None"
        && crate::shape::option(&param.ty).is_some()
    {
        errors.at(
            key,
            "an `Option` that is left out is `None` anyway: leave out the default",
        );
    }
}

fn description(param: &Param, errors: &mut Errors) {
    if let Some(expression) = &param.arguments.description
        && let crate::docs::Text::Literal(text) = crate::model::text(expression)
        && text.trim().is_empty()
    {
        errors.at(
            expression,
            "this description is empty: say what the value means, or leave it out",
        );
    }
}

impl Param {
    /// The default as JSON, if it is a literal, and where it stands.
    pub(crate) fn default_json(&self) -> Option<(Json, &syn::Expr)> {
        match &self.arguments.default {
            Some((_, Default::Expression(expression))) => {
                Json::from_literal(expression).map(|json| (json, expression))
            }
            _ => None,
        }
    }
}
