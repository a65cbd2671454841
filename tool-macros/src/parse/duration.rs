//! Durations: `90s`, `2h`, `1d 4h`.

use syn::LitStr;

const UNITS: &[(&str, u64)] = &[
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];

/// The duration in milliseconds.
pub(super) fn parse(literal: &LitStr) -> syn::Result<u64> {
    let fault = |message: String| Err(syn::Error::new(literal.span(), message));
    let text = literal.value();
    let mut total: u64 = 0;
    let mut smallest = u64::MAX;
    for part in parts(&text) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = part[digits.len()..].trim();
        let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return fault(format!(
                "`{text}` is not a duration: write `\"90s\"`, `\"2h\"` or `\"1d 4h\"` with the units `ms`, `s`, `m`, `h`, `d`, `w`"
            ));
        };
        if *length >= smallest {
            return fault(format!(
                "`{text}` is not a duration: write each unit once, the largest first, as in `\"1d 4h\"`"
            ));
        }
        smallest = *length;
        let amount = digits.parse::<u64>().ok();
        let sum = amount
            .and_then(|amount| amount.checked_mul(*length))
            .and_then(|amount| total.checked_add(amount));
        match sum {
            Some(sum) => total = sum,
            None => {
                return fault(format!(
                    "`{text}` is not a duration: write whole numbers of a reasonable size, as in `\"90s\"`"
                ));
            }
        }
    }
    if total == 0 {
        return fault(format!(
            "`{text}` is no time at all: write a duration such as `\"90s\"`"
        ));
    }
    Ok(total)
}

/// `1d4h`, `1d 4h` and `1 d 4 h` are all two parts.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut in_unit = false;
    for (index, letter) in text.char_indices() {
        if letter.is_ascii_digit() && in_unit {
            parts.push(text[start..index].trim());
            start = index;
            in_unit = false;
        } else if !letter.is_ascii_digit() && !letter.is_whitespace() {
            in_unit = true;
        }
    }
    parts.push(text[start..].trim());
    parts
}
