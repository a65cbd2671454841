//! What an answer, or a chunk of one, looks like on the wire.
//!
//! Everything is optional, `null` means absent, and text is borrowed from the bytes where it can be:
//! the derived `Cow` in an `Option` would always copy.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor, value};
use serde_json::value::RawValue;
use tool_core::Usage;

/// What is read from JSON into the place where it stays. What `Deserialize` returns would be moved
/// from hand to hand, which for these structures costs more than reading them.
pub(super) struct Fill<'t, T>(pub(super) &'t mut T);

/// Structures that are filled: a member is read as a value, or filled itself where it says `fill`.
/// `null` leaves the structure empty, and of a member that comes twice the last counts.
macro_rules! filled {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $type:ty $(= $fill:ident)?,)* })*) => {$(
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $name<'a> {
            $(pub(super) $field: $type,)*
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
        message: Said<'a> = fill,
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
    pub(super) fn read(json: &'a str) -> Result<Self, serde_json::Error> {
        let mut answer = Answer::default();
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Fill(&mut answer).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(answer)
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

/// Text, empty where there is none. What should be text and is other JSON, as the arguments of a call
/// are with some servers, is kept as the text of that JSON.
#[derive(Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

/// The content of a message: text, or an array of parts.
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Content::Text(Cow::Borrowed(""))
    }
}

#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    /// Reasoning: text, or parts of it.
    #[serde(borrow, default)]
    pub(super) thinking: Option<Content<'a>>,
}

/// An array that mostly has one element, which then needs no allocation; `null` is an empty one.
pub(super) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Few {
            first: None,
            rest: Vec::new(),
        }
    }
}

impl<T> Few<T> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
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
        let first = self.0.first.insert(T::default());
        if seq.next_element_seed(Fill(first))?.is_none() {
            self.0.first = None;
            return Ok(());
        }
        loop {
            let mut element = T::default();
            if seq.next_element_seed(Fill(&mut element))?.is_none() {
                return Ok(());
            }
            self.0.rest.push(element);
        }
    }
}

/// A number of tokens; what is no such number is zero.
#[derive(Clone, Copy, Default)]
struct Count(u64);

macro_rules! text_visits {
    ($wrap:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text")
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Borrowed(text)))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Owned(text.to_owned())))
        }

        fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Owned(text)))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Owned(value.to_string())))
        }

        fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Owned(value.to_string())))
        }

        fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Owned(value.to_string())))
        }

        fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
            Ok($wrap(Cow::Owned(value.to_string())))
        }
    };
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    text_visits!(Text);

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text<'de>, A::Error> {
        let value = serde_json::Value::deserialize(value::MapAccessDeserializer::new(map))?;
        Ok(Text(Cow::Owned(value.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Text<'de>, A::Error> {
        let value = serde_json::Value::deserialize(value::SeqAccessDeserializer::new(seq))?;
        Ok(Text(Cow::Owned(value.to_string())))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    text_visits!(Content::Text);

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Content<'de>, A::Error> {
        Vec::deserialize(value::SeqAccessDeserializer::new(seq)).map(Content::Parts)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content<'de>, A::Error> {
        let part = Part::deserialize(value::MapAccessDeserializer::new(map))?;
        Ok(Content::Parts(vec![part]))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens")
    }

    fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
        Ok(Count(count))
    }

    fn visit_i64<E>(self, count: i64) -> Result<Count, E> {
        Ok(Count(count.try_into().unwrap_or_default()))
    }

    fn visit_f64<E>(self, count: f64) -> Result<Count, E> {
        Ok(Count(count as u64))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_str<E>(self, text: &str) -> Result<Count, E> {
        Ok(Count(text.parse().unwrap_or_default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Count, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(0))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}
