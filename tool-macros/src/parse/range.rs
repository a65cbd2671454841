//! Ranges of literals: `1..=100`, `0.0..1.0`, `..10`.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Lit, RangeLimits, UnOp};

use crate::docs::ungroup;
use crate::json::{Json, Place, Value};

pub(crate) struct Range {
    pub(crate) low: Option<Bound>,
    pub(crate) high: Option<Bound>,
    pub(crate) is_inclusive: bool,
    pub(crate) tokens: TokenStream,
}

#[derive(Clone)]
pub(crate) struct Bound {
    pub(crate) json: Json,
    pub(crate) is_float: bool,
}

impl Bound {
    pub(crate) fn number(&self) -> f64 {
        self.json.number().unwrap_or(0.0)
    }
}

impl Parse for Range {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let expression: Expr = input.parse()?;
        let tokens = expression.to_token_stream();
        let Expr::Range(range) = ungroup(&expression) else {
            let message = "not a range: write one such as `1..=100`, `..10` or `0.0..1.0`";
            return Err(syn::Error::new_spanned(expression, message));
        };
        let bound = |end: &Option<Box<Expr>>| end.as_deref().map(Bound::from_expr).transpose();
        let (low, high) = (bound(&range.start)?, bound(&range.end)?);
        if low.is_none() && high.is_none() {
            let message = "this range allows everything: write one such as `1..=100` or `1..`";
            return Err(syn::Error::new_spanned(expression, message));
        }
        Ok(Range {
            low,
            high,
            is_inclusive: matches!(range.limits, RangeLimits::Closed(_)),
            tokens,
        })
    }
}

impl Bound {
    pub(super) fn from_expr(expression: &Expr) -> syn::Result<Self> {
        let (negative, literal) = match ungroup(expression) {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => (true, ungroup(&unary.expr)),
            other => (false, other),
        };
        let number = match literal {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => Some((number.base10_digits().to_owned(), false)),
                Lit::Float(number) => Some((crate::json::decimal(number.base10_digits()), true)),
                _ => None,
            },
            _ => None,
        };
        let Some((digits, is_float)) = number else {
            let message = "the ends of this range are written as numbers, because the schema is made before constants have values";
            return Err(syn::Error::new_spanned(expression, message));
        };
        let sign = if negative { "-" } else { "" };
        Ok(Bound {
            json: Json {
                value: Value::Number(format!("{sign}{digits}")),
                place: Place::Token(Span::call_site()),
            },
            is_float,
        })
    }
}
