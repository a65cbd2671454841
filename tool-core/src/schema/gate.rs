//! Arguments against a schema.

mod alternatives;
mod check;
mod compile;
mod text;

use std::cell::Cell;

use regex_lite::Regex;
use serde_json::{Map, Number, Value};

use super::{SchemaError, parse_unique};

/// A schema made ready to check arguments.
///
/// It repairs what means the same in a form that models get wrong: an optional property that is
/// `null` is absent, `5.0` is the integer `5`, and where only a container, a number or a boolean is
/// wanted, a string that holds one as JSON is that value. Everything else that does not fit is a
/// [`Fault`].
#[derive(Debug)]
pub(crate) struct Gate {
    nodes: Vec<Node>,
    root: usize,
}

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// A JSON Pointer (RFC 6901) to the value; empty for the whole.
    pub(crate) path: String,
    pub(crate) text: String,
}

#[derive(Debug, Default)]
struct Node {
    /// Bits of [`Kind`]; none is all.
    kinds: u8,
    values: Option<Vec<Value>>,
    reference: Option<usize>,
    any_of: Vec<usize>,
    one_of: Vec<usize>,
    all_of: Vec<usize>,
    object: Option<Box<ObjectRules>>,
    array: Option<Box<ArrayRules>>,
    string: Option<Box<StringRules>>,
    number: Option<Box<NumberRules>>,
}

#[derive(Debug, Default)]
struct ObjectRules {
    properties: Vec<(String, usize)>,
    required: Vec<String>,
    patterns: Vec<(Regex, usize)>,
    /// Whether there are patterns of keys that cannot be checked, so that any key may be known.
    unchecked_patterns: bool,
    others: Others,
    at_least: Option<u64>,
    at_most: Option<u64>,
}

#[derive(Debug, Default)]
enum Others {
    #[default]
    Allowed,
    Refused,
    Like(usize),
}

#[derive(Debug, Default)]
struct ArrayRules {
    prefix: Vec<usize>,
    items: Option<usize>,
    no_more_items: bool,
    at_least: Option<u64>,
    at_most: Option<u64>,
    unique: bool,
}

#[derive(Debug, Default)]
struct StringRules {
    at_least: Option<u64>,
    at_most: Option<u64>,
    pattern: Option<Regex>,
}

#[derive(Debug, Default)]
struct NumberRules {
    minimum: Option<Number>,
    maximum: Option<Number>,
    above: Option<Number>,
    below: Option<Number>,
    multiple_of: Option<Number>,
}

impl Gate {
    /// Makes a schema in normal form ready.
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        compile::compile(schema)
    }

    /// Lets in the arguments of a tool without parameters.
    pub(crate) fn anything() -> Self {
        let object = ObjectRules {
            others: Others::Refused,
            ..ObjectRules::default()
        };
        let root = Node {
            kinds: Kind::OBJECT,
            object: Some(Box::new(object)),
            ..Node::default()
        };
        Gate {
            nodes: vec![root],
            root: 0,
        }
    }

    /// Reads and checks the arguments of a call. All faults are found at once.
    pub(crate) fn admit(
        &self,
        json: &str,
        aliases: &[(&str, &str)],
    ) -> Result<Map<String, Value>, Vec<Fault>> {
        let json = match json.trim() {
            "" | "null" => "{}",
            json => json,
        };
        let mut value = parse_unique(json).map_err(|error| vec![text::not_json(&error)])?;
        if let Value::String(inner) = &value
            && let Ok(decoded @ Value::Object(_)) = parse_unique(inner)
        {
            value = decoded;
        }
        if let Value::Object(map) = &mut value {
            for (alias, name) in aliases {
                if !map.contains_key(*name)
                    && let Some(aliased) = map.shift_remove(*alias)
                {
                    map.insert((*name).into(), aliased);
                }
            }
        }
        let mut faults = Vec::new();
        let work = Cell::new(1_000_000 + 100 * json.len() as u64);
        check::Check {
            gate: self,
            repair: true,
            work_left: &work,
        }
        .visit(self.root, &mut value, &mut String::new(), &mut faults);
        match value {
            Value::Object(map) if faults.is_empty() => Ok(map),
            _ => Err(faults),
        }
    }
}

/// The types of JSON Schema, as bits.
struct Kind;

impl Kind {
    const NULL: u8 = 1;
    const BOOLEAN: u8 = 2;
    const INTEGER: u8 = 4;
    const NUMBER: u8 = 8 | Kind::INTEGER;
    const STRING: u8 = 16;
    const ARRAY: u8 = 32;
    const OBJECT: u8 = 64;

    fn of_name(name: &str) -> Option<u8> {
        Some(match name {
            "null" => Kind::NULL,
            "boolean" => Kind::BOOLEAN,
            "integer" => Kind::INTEGER,
            "number" => Kind::NUMBER,
            "string" => Kind::STRING,
            "array" => Kind::ARRAY,
            "object" => Kind::OBJECT,
            _ => return None,
        })
    }

    fn of_value(value: &Value) -> u8 {
        match value {
            Value::Null => Kind::NULL,
            Value::Bool(_) => Kind::BOOLEAN,
            Value::Number(number) if is_integer(number) => Kind::INTEGER,
            Value::Number(_) => Kind::NUMBER & !Kind::INTEGER,
            Value::String(_) => Kind::STRING,
            Value::Array(_) => Kind::ARRAY,
            Value::Object(_) => Kind::OBJECT,
        }
    }
}

/// In JSON Schema `5.0` is an integer.
fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}
