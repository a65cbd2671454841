//! The single values of an answer, read leniently.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor, value};

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

/// A number of tokens; what is no such number is zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(pub(super) u64);

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
