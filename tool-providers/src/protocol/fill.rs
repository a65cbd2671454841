//! Reading JSON into the place where it stays.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

/// What is read from JSON into the place where it stays. What `Deserialize` returns would be moved
/// from hand to hand, which for these structures costs more than reading them.
pub(super) struct Fill<'t, T>(pub(super) &'t mut T);

/// Structures that are filled: a member is read as a value, or filled itself where it says `fill`. It has
/// the name of its field, or the one after `as`. `null` leaves the structure empty, and of a member that
/// comes twice the last counts.
macro_rules! filled {
    ($($(#[$doc:meta])* struct $name:ident {
        $($(#[$about:meta])* $field:ident $(as $key:literal)?: $type:ty $(= $fill:ident)?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $name<'a> {
            $($(#[$about])* pub(super) $field: $type,)*
        }

        impl<'de> serde::de::DeserializeSeed<'de> for $crate::protocol::fill::Fill<'_, $name<'de>> {
            type Value = ();

            fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }

        impl<'de> serde::de::Visitor<'de> for $crate::protocol::fill::Fill<'_, $name<'de>> {
            type Value = ();

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_unit<E>(self) -> Result<(), E> {
                Ok(())
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while let Some($crate::protocol::values::Text(key)) = map.next_key()? {
                    match &*key {
                        $(filled!(name $field $($key)?) => filled!(self.0.$field, map $(, $fill)?),)*
                        _ => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(())
            }
        }
    )*};
    (name $field:ident) => { stringify!($field) };
    (name $field:ident $key:literal) => { $key };
    ($place:expr, $map:ident, fill) => { $map.next_value_seed($crate::protocol::fill::Fill(&mut $place))? };
    ($place:expr, $map:ident) => { $place = $map.next_value()? };
}

pub(super) use filled;

/// Fills a place from JSON text.
pub(super) fn fill<'a>(
    place: impl DeserializeSeed<'a, Value = ()>,
    json: &'a str,
) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    place.deserialize(&mut deserializer)?;
    deserializer.end()
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
