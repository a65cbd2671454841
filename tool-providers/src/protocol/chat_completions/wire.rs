//! What an answer, or a chunk of one, looks like on the wire.
//!
//! Everything is optional, `null` means absent, and text is borrowed from the bytes where it can be:
//! the derived `Cow` in an `Option` would always copy.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor, value};
use serde_json::value::RawValue;
use tool_core::Usage;

/// An answer or a chunk of one.
#[derive(Deserialize)]
pub(super) struct Answer<'a> {
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) delta: Option<Said<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Said<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Text<'a>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// A message or a piece of one.
#[derive(Default, Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
}

/// A call or a piece of one.
#[derive(Default, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Text<'a>,
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
