//! What an answer, or a chunk of one, looks like on the wire.
//!
//! Everything is optional, `null` means absent, and text is borrowed from the bytes where it can be:
//! the derived `Cow` in an `Option` would always copy.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tool_core::Usage;

use super::super::values::{Content, Count, Text};

/// What is read from JSON into the place where it stays. What `Deserialize` returns would be moved
/// from hand to hand, which for these structures costs more than reading them.
pub(super) struct Fill<'t, T>(pub(super) &'t mut T);

/// Structures that are filled: a member is read as a value, or filled itself where it says `fill`.
/// `null` leaves the structure empty, and of a member that comes twice the last counts.
macro_rules! filled {
    ($($(#[$doc:meta])* struct $name:ident {
        $($(#[$about:meta])* $field:ident: $type:ty $(= $fill:ident)?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $name<'a> {
            $($(#[$about])* pub(super) $field: $type,)*
        }

        impl<'de> DeserializeSeed<'de> for Fill<'_, $name<'de>> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }

        impl<'de> Visitor<'de> for Fill<'_, $name<'de>> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_unit<E>(self) -> Result<(), E> {
                Ok(())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        $(stringify!($field) => filled!(self.0.$field, map $(, $fill)?),)*
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(())
            }
        }
    )*};
    ($place:expr, $map:ident, fill) => { $map.next_value_seed(Fill(&mut $place))? };
    ($place:expr, $map:ident) => { $place = $map.next_value()? };
}

filled! {
    /// An answer or a chunk of one.
    struct Answer {
        model: Text<'a>,
        choices: Few<Choice<'a>> = fill,
        usage: Option<Counts>,
        error: Option<&'a RawValue>,
    }

    struct Choice {
        index: Option<u64>,
        delta: Said<'a> = fill,
        /// Apart, so that a chunk, which has none, is small.
        message: Option<Box<Said<'a>>> = fill,
        finish_reason: Text<'a>,
        error: Option<&'a RawValue>,
    }

    /// A message or a piece of one.
    struct Said {
        content: Content<'a>,
        refusal: Text<'a>,
        reasoning_content: Text<'a>,
        reasoning: Text<'a>,
        reasoning_details: Option<&'a RawValue>,
        extra_content: Option<&'a RawValue>,
        tool_calls: Few<Call<'a>> = fill,
    }

    /// A call or a piece of one.
    struct Call {
        index: Option<u64>,
        id: Text<'a>,
        function: Function<'a> = fill,
        extra_content: Option<&'a RawValue>,
    }

    struct Function {
        name: Text<'a>,
        arguments: Text<'a>,
    }
}

impl<'a> Answer<'a> {
    pub(super) fn fill(&mut self, json: &'a str) -> Result<(), serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Fill(self).deserialize(&mut deserializer)?;
        deserializer.end()
    }
}

impl<'de, T: Default> DeserializeSeed<'de> for Fill<'_, Option<Box<T>>>
where
    for<'t> Fill<'t, T>: DeserializeSeed<'de, Value = ()>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        Fill(&mut **self.0.insert(Box::default())).deserialize(deserializer)
    }
}

#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    reasoning_tokens: Count,
}

impl Counts {
    pub(super) fn usage(self) -> Usage {
        let prompt = self.prompt_tokens_details.unwrap_or_default();
        let completion = self.completion_tokens_details.unwrap_or_default();
        let cached = prompt.cached_tokens.0.max(self.prompt_cache_hit_tokens.0);
        Usage::new(self.prompt_tokens.0, self.completion_tokens.0)
            .with_cached_input_tokens(cached)
            .with_reasoning_tokens(completion.reasoning_tokens.0)
    }
}

/// An array that mostly has one element, which then needs no allocation; `null` is an empty one.
#[derive(Default)]
pub(super) struct Few<T> {
    first: T,
    has_first: bool,
    rest: Vec<T>,
}

impl<T> Few<T> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let first = self.has_first.then_some(&self.first);
        first.into_iter().chain(&self.rest)
    }
}

impl<'de, T: Default> DeserializeSeed<'de> for Fill<'_, Few<T>>
where
    for<'t> Fill<'t, T>: DeserializeSeed<'de, Value = ()>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Default> Visitor<'de> for Fill<'_, Few<T>>
where
    for<'t> Fill<'t, T>: DeserializeSeed<'de, Value = ()>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.has_first = seq.next_element_seed(Fill(&mut self.0.first))?.is_some();
        loop {
            let mut element = T::default();
            if seq.next_element_seed(Fill(&mut element))?.is_none() {
                return Ok(());
            }
            self.0.rest.push(element);
        }
    }
}
