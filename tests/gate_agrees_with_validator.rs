//! M4, R3: what a schema accepts the gate accepts, what the gate accepts the schema accepts.
//!
//! The oracle is a validator that no one here wrote. The gate may repair; what it lets through is
//! then what the schema accepts. An integer of 64 bits has no bounds in the schema, so that numbers
//! beyond are not tried here; a `format` is a hint in JSON Schema 2020-12, so that dates are not either.

#![allow(
    dead_code,
    clippy::too_many_arguments,
    reason = "the types and tools are only there to be read into"
)]

use std::collections::{BTreeMap, HashMap, HashSet};

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool_core::{Tool, ToolCall, ToolErrorKind, tool, tools};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Plain {
    Metric,
    Imperial,
}

#[derive(Deserialize, JsonSchema)]
enum External {
    /// Nothing.
    Nothing,
    One(i32),
    Two(String, bool),
    Named {
        a: Option<u8>,
        b: f64,
    },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Internal {
    Circle { radius: f64 },
    Leaf(Leaf),
    Empty,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    A(i32),
    B { x: String },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(i32),
    Text(String),
    List(Vec<i32>),
    Object { z: bool },
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Leaf {
    text: String,
    #[serde(default)]
    count: u8,
    maybe: Option<i16>,
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    leaf: Leaf,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
struct Newtype(u16);

#[derive(Deserialize, JsonSchema)]
struct Flat {
    own: i32,
    #[serde(flatten)]
    leaf: Pair,
}

#[derive(Deserialize, JsonSchema)]
struct Pair {
    left: bool,
    right: Option<String>,
}

/// Scalars.
#[tool]
fn scalars(
    a: u8,
    b: i32,
    c: u32,
    d: f64,
    e: bool,
    f: String,
    g: char,
    h: Option<i8>,
    i: Option<bool>,
    j: Option<f32>,
    k: Newtype,
) {
    let _ = (a, b, c, d, e, f, g, h, i, j, k);
}

/// Containers.
#[tool]
fn containers(
    a: Vec<String>,
    b: Option<Vec<u8>>,
    c: (i32, String),
    d: [f64; 2],
    e: HashMap<String, i32>,
    f: BTreeMap<String, Vec<bool>>,
    g: HashSet<String>,
    h: Vec<Option<i32>>,
    i: Value,
    j: Option<Value>,
) {
    let _ = (a, b, c, d, e, f, g, h, i, j);
}

/// Enums.
#[tool]
fn enums(
    a: Plain,
    b: Option<Plain>,
    c: External,
    d: Internal,
    e: Untagged,
    f: Adjacent,
    g: Vec<External>,
    h: Option<Untagged>,
) {
    let _ = (a, b, c, d, e, f, g, h);
}

/// Structs.
#[tool]
fn structs(a: Leaf, b: Option<Leaf>, c: Tree, d: Flat, e: Vec<Leaf>, f: Option<Box<Tree>>) {
    let _ = (a, b, c, d, e, f);
}

/// Constraints.
#[tool]
fn constrained(
    #[param(range = 1..=10)] a: u32,
    #[param(length = 1..=3)] b: String,
    #[param(length = 1..=2)] c: Vec<i32>,
    #[param(pattern = "^[A-Z]+$")] d: Option<String>,
    #[param(default = 7)] e: i32,
    #[param(range = 0.0..1.0, default)] f: f64,
) {
    let _ = (a, b, c, d, e, f);
}

/// Makes values of bytes, so that shorter bytes are simpler values.
struct Dice<'a> {
    bytes: &'a [u8],
    root: &'a Value,
    /// One in so many values is not what the schema wants.
    calm: usize,
}

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        let Some((first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        usize::from(*first) % sides
    }

    fn unlucky(&mut self) -> bool {
        self.roll(self.calm) == self.calm - 1
    }

    fn pick(&mut self, values: &[Value]) -> Value {
        values[self.roll(values.len())].clone()
    }

    fn junk(&mut self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(-1),
            json!(5.0),
            json!(5.5),
            json!(300),
            json!(70000),
            json!(4294967296_u64),
            json!(""),
            json!("a"),
            json!("5"),
            json!("5.0"),
            json!("true"),
            json!("null"),
            json!("[1]"),
            json!("[\"a\"]"),
            json!("{\"text\":\"x\"}"),
            json!([]),
            json!([1]),
            json!([null]),
            json!({}),
            json!({ "text": "x" }),
            json!("ABC"),
        ];
        self.pick(&values)
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if depth > 6 || self.unlucky() {
            return self.junk();
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.root.pointer(&reference[1..]).unwrap();
            return self.value(target, depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema[key].as_array() {
                let branch = branches[self.roll(branches.len())].clone();
                return self.value(&branch, depth + 1);
            }
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.pick(values);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.roll(kinds.len())].clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                let prefix = schema["prefixItems"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let length = match schema["minItems"].as_u64() {
                    Some(least) if !self.unlucky() => least as usize,
                    _ => self.roll(4),
                };
                (0..length)
                    .map(|at| self.value(prefix.get(at).unwrap_or(&schema["items"]), depth + 1))
                    .collect()
            }
            Some("string") if !self.unlucky() => match schema["maxLength"].as_u64() {
                Some(1) => "a".into(),
                _ => "ABC".into(),
            },
            Some("string") => {
                let words = ["", "a", "ab", "ABC", "äöü", "abcd", "5", "x"];
                words[self.roll(words.len())].into()
            }
            Some("integer") if !self.unlucky() => {
                let least = schema["minimum"].as_i64().unwrap_or(-5);
                let number = least.max(-3) + self.roll(6) as i64;
                if self.roll(8) == 7 {
                    (number as f64).into()
                } else {
                    number.into()
                }
            }
            Some("integer") => {
                let numbers = [
                    json!(0),
                    json!(1),
                    json!(7),
                    json!(-1),
                    json!(5.0),
                    json!(127),
                    json!(128),
                    json!(255),
                    json!(256),
                    json!(32768),
                    json!(65536),
                    json!(2147483647),
                    json!(2147483648_u64),
                    json!(-2147483649_i64),
                    json!(4294967295_u64),
                    json!(4294967296_u64),
                ];
                self.pick(&numbers)
            }
            Some("number") => self.pick(&[
                json!(0),
                json!(1),
                json!(0.5),
                json!(-2.25),
                json!(1e10),
                json!(1e39),
                json!(3.0),
            ]),
            Some("boolean") => (self.roll(2) == 1).into(),
            Some("null") => Value::Null,
            other => panic!("a node without a type: {schema} {other:?}"),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut map = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if !self.unlucky() {
                map.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() {
            for key in ["p", "q"].iter().take(self.roll(3)) {
                map.insert(
                    (*key).into(),
                    self.value(&schema["additionalProperties"], depth + 1),
                );
            }
        }
        if self.unlucky() {
            let junk = self.junk();
            map.insert("unexpected".into(), junk);
        }
        map.into()
    }
}

#[test]
fn gate_and_validator_agree_on_ten_thousand_arguments_m4_r3() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    for tool in tools![Scalars, Containers, Enums, Structs, Constrained].iter() {
        let schema = tool.definition().schema().as_value();
        let validator = Validator::new(schema).unwrap();
        let accepted = std::cell::Cell::new(0);
        let config = Config {
            cases: 2_500,
            failure_persistence: None,
            max_shrink_iters: 20_000,
            ..Config::default()
        };
        let result =
            TestRunner::new(config).run(&prop::collection::vec(any::<u8>(), 0..200), |bytes| {
                let calm = [12, 60, 250][bytes.len() % 3];
                let mut dice = Dice {
                    bytes: &bytes,
                    root: schema,
                    calm,
                };
                let arguments = dice.object(schema, 0);
                let by_schema = validator.is_valid(&arguments);
                let by_gate =
                    tool.definition()
                        .check(&ToolCall::new("1", tool.name(), arguments.clone()));
                if let Ok(repaired) = &by_gate {
                    accepted.set(accepted.get() + 1);
                    let repaired = Value::Object(repaired.clone());
                    prop_assert!(
                        validator.is_valid(&repaired),
                        "the gate let through {repaired}, made of {arguments}"
                    );
                }
                if by_schema {
                    let why = by_gate.as_ref().err().map(ToString::to_string);
                    prop_assert!(
                        by_gate.is_ok(),
                        "the schema accepts {arguments}, the gate says {why:?}"
                    );
                }
                let ran = runtime.block_on(tool.call(arguments.clone()));
                let refused =
                    ran.is_err_and(|error| error.kind() == ToolErrorKind::InvalidArguments);
                prop_assert_eq!(
                    refused,
                    by_gate.is_err(),
                    "gate and tool disagree on {}",
                    arguments
                );
                Ok(())
            });
        if let Err(error) = result {
            panic!("{}: {error}\n{schema:#}", tool.name());
        }
        assert!(
            accepted.get() > 150,
            "{}: only {} of 2500 were accepted, which shows little",
            tool.name(),
            accepted.get()
        );
    }
}
