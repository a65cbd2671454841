//! Where a request differs from the recorded one.

use std::fmt;

use serde_json::Value;

use super::exchange::Asked;
use crate::secret::is_hidden_form;

/// How much of a value is shown, and how much of it before the difference.
const SHOWN: usize = 80;
const BEFORE: usize = 20;

/// The first difference of two requests.
pub(super) struct Difference {
    place: String,
    recorded: String,
    now: String,
}

impl Difference {
    /// `None`: they are the same.
    pub(super) fn of(recorded: &Asked, now: &Asked) -> Option<Self> {
        let texts = [
            ("method", &recorded.method, &now.method),
            ("path", &recorded.path, &now.path),
        ];
        let texts = texts.into_iter();
        let mut differing = texts.filter(|(_, recorded, now)| !is_hidden_form(recorded, now));
        if let Some((place, recorded, now)) = differing.next() {
            return Some(Difference::at(place, recorded, now));
        }
        difference("body", Some(&recorded.body), Some(&now.body))
    }

    fn at(place: &str, recorded: &str, now: &str) -> Self {
        let same = recorded.chars().zip(now.chars());
        let same = same.take_while(|(one, other)| one == other).count();
        Difference {
            place: place.to_owned(),
            recorded: excerpt(recorded, same),
            now: excerpt(now, same),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            place,
            recorded,
            now,
        } = self;
        write!(f, "at `{place}`: recorded {recorded}, now {now}")
    }
}

fn difference(place: &str, recorded: Option<&Value>, now: Option<&Value>) -> Option<Difference> {
    match (recorded, now) {
        (Some(Value::String(recorded)), Some(Value::String(now)))
            if is_hidden_form(recorded, now) =>
        {
            None
        }
        (Some(Value::Array(recorded)), Some(Value::Array(now))) => {
            let mut items = 0..recorded.len().max(now.len());
            items.find_map(|item| {
                let place = format!("{place}[{item}]");
                difference(&place, recorded.get(item), now.get(item))
            })
        }
        (Some(Value::Object(recorded)), Some(Value::Object(now))) => {
            let differing = recorded.iter().find_map(|(name, value)| {
                // The name may hold what was hidden.
                let same = now.get(name).or_else(|| {
                    let mut alike = now.iter().filter(|(other, _)| is_hidden_form(name, other));
                    alike.next().map(|(_, value)| value)
                });
                difference(&member(place, name), Some(value), same)
            });
            differing.or_else(|| {
                let known = |name: &String| recorded.keys().any(|old| is_hidden_form(old, name));
                let (name, value) = now.iter().find(|(name, _)| !known(name))?;
                difference(&member(place, name), None, Some(value))
            })
        }
        (recorded, now) if recorded == now => None,
        (recorded, now) => {
            let text = |value: Option<&Value>| {
                value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
            };
            Some(Difference::at(place, &text(recorded), &text(now)))
        }
    }
}

fn member(place: &str, name: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "_-$".contains(character);
    match !name.is_empty() && name.chars().all(plain) {
        true => format!("{place}.{name}"),
        false => format!("{place}[{}]", Value::from(name)),
    }
}

/// What a value says around its character `at`.
fn excerpt(text: &str, at: usize) -> String {
    let length = text.chars().count();
    if length <= SHOWN {
        return text.to_owned();
    }
    let start = at.saturating_sub(BEFORE);
    let part: String = text.chars().skip(start).take(SHOWN).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + SHOWN < length { "…" } else { "" };
    format!("{before}{part}{after}")
}
