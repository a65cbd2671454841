//! M4: the normal form of a schema.

#![allow(dead_code, reason = "the types are only there for their schemas")]

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_core::{Schema, normalize};

fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

fn form<T: JsonSchema>() -> Value {
    let form = normalize(schema_of::<T>()).unwrap();
    assert_eq!(
        normalize(form.clone()).unwrap(),
        form,
        "the form of a form is itself"
    );
    assert_well_formed(&form);
    form
}

/// Every node typed, every `$ref` resolves, `$defs` only at the root, no noise.
fn assert_well_formed(root: &Value) {
    fn walk(node: &Value, root: &Value, is_root: bool) {
        let map = node
            .as_object()
            .unwrap_or_else(|| panic!("{node} is no object"));
        for noise in ["$schema", "$id", "title", "nullable"] {
            assert!(!map.contains_key(noise), "{noise} in {node}");
        }
        assert!(
            is_root || !map.contains_key("$defs"),
            "nested $defs in {node}"
        );
        assert_ne!(map.get("default"), Some(&Value::Null));
        let typed = ["type", "$ref", "anyOf", "oneOf", "allOf"]
            .iter()
            .any(|key| map.contains_key(*key));
        assert!(typed, "untyped: {node}");
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            assert!(
                root.pointer(&reference[1..]).is_some(),
                "{reference} does not resolve in {root}"
            );
            assert!(
                map.len() == 1 || map.contains_key("properties"),
                "siblings of $ref in {node}"
            );
        }
        if map.get("type") == Some(&json!("array")) {
            assert!(map.contains_key("items"), "no items in {node}");
        }
        for key in ["properties", "$defs", "patternProperties"] {
            map.get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .for_each(|(_, node)| walk(node, root, false));
        }
        for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            map.get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .for_each(|node| walk(node, root, false));
        }
        for key in ["items", "additionalProperties"] {
            map.get(key)
                .filter(|node| !node.is_boolean())
                .into_iter()
                .for_each(|node| walk(node, root, false));
        }
    }
    assert_eq!(root["type"], "object");
    assert!(root["properties"].is_object());
    assert!(root["required"].is_array());
    walk(root, root, true);
}

#[derive(JsonSchema, Deserialize)]
struct Empty {}

#[test]
fn an_empty_struct_has_properties_b22() {
    let expected = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    assert_eq!(form::<Empty>(), expected);
    assert_eq!(Schema::empty().as_value(), &expected);
}

#[derive(JsonSchema, Deserialize)]
struct Scalars {
    /// How many.
    count: u32,
    small: u8,
    signed: i32,
    big: i64,
    ratio: f64,
    name: String,
    maybe: Option<i64>,
    tags: Vec<String>,
    bytes: Vec<u8>,
}

#[test]
fn scalars_have_no_numeric_format_and_options_no_null_b28_b34_b35_b38() {
    let form = form::<Scalars>();
    assert_eq!(
        form["properties"]["count"],
        json!({ "description": "How many.", "type": "integer", "minimum": 0, "maximum": 4294967295_u32 })
    );
    assert_eq!(
        form["properties"]["small"],
        json!({ "type": "integer", "minimum": 0, "maximum": 255 })
    );
    assert_eq!(
        form["properties"]["signed"],
        json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX })
    );
    assert_eq!(form["properties"]["big"], json!({ "type": "integer" }));
    assert_eq!(form["properties"]["ratio"], json!({ "type": "number" }));
    assert_eq!(form["properties"]["maybe"], json!({ "type": "integer" }));
    assert_eq!(
        form["properties"]["tags"],
        json!({ "type": "array", "items": { "type": "string" } })
    );
    let required = json!([
        "count", "small", "signed", "big", "ratio", "name", "tags", "bytes"
    ]);
    assert_eq!(form["required"], required);
    let order: Vec<_> = form["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        order,
        [
            "count", "small", "signed", "big", "ratio", "name", "maybe", "tags", "bytes"
        ]
    );
}

#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Units {
    /// Celsius and metres.
    Metric,
    /// Fahrenheit
    /// and feet.
    Imperial,
}

#[derive(JsonSchema, Deserialize)]
enum Plain {
    A,
    B,
}

#[derive(JsonSchema, Deserialize)]
struct Enums {
    units: Units,
    /// Which one.
    plain: Plain,
    optional: Option<Units>,
}

#[test]
fn a_documented_enum_is_one_list_with_its_meaning_in_the_description_b46() {
    let form = form::<Enums>();
    let units = &form["$defs"]["Units"];
    assert_eq!(units["type"], "string");
    assert_eq!(units["enum"], json!(["metric", "imperial"]));
    assert_eq!(
        units["description"],
        "- `metric`: Celsius and metres.\n- `imperial`: Fahrenheit and feet."
    );
    assert_eq!(
        form["properties"]["plain"],
        json!({ "description": "Which one.", "type": "string", "enum": ["A", "B"] })
    );
    assert_eq!(form["required"], json!(["units", "plain"]));
}

#[derive(JsonSchema, Deserialize)]
struct Inner {
    x: i64,
}

#[derive(JsonSchema, Deserialize)]
struct Outer {
    /// The only one.
    inner: Inner,
    list: Vec<Leaf>,
    /// A leaf with words of its own.
    leaf: Leaf,
    maybe: Option<Leaf>,
}

#[derive(JsonSchema, Deserialize)]
struct Leaf {
    y: String,
}

#[test]
fn references_resolve_and_what_is_used_once_stands_in_its_place_b31() {
    let form = form::<Outer>();
    let inner = &form["properties"]["inner"];
    assert_eq!(inner["description"], "The only one.");
    assert_eq!(inner["properties"]["x"], json!({ "type": "integer" }));
    assert_eq!(inner["additionalProperties"], json!(false));
    assert_eq!(
        form["properties"]["list"]["items"],
        json!({ "$ref": "#/$defs/Leaf" })
    );
    assert_eq!(
        form["properties"]["leaf"]["anyOf"],
        json!([{ "$ref": "#/$defs/Leaf" }])
    );
    assert_eq!(
        form["properties"]["maybe"],
        json!({ "$ref": "#/$defs/Leaf" })
    );
    assert_eq!(form["$defs"].as_object().unwrap().len(), 1);
}

#[derive(JsonSchema, Deserialize)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(JsonSchema, Deserialize)]
struct HoldsTree {
    tree: Tree,
}

#[test]
fn recursive_types_resolve() {
    let tree = form::<Tree>();
    assert_eq!(
        tree["properties"]["children"]["items"],
        json!({ "$ref": "#/$defs/Tree" })
    );
    let holds = form::<HoldsTree>();
    assert_eq!(
        holds["properties"]["tree"],
        json!({ "$ref": "#/$defs/Tree" })
    );
}

#[derive(JsonSchema, Deserialize)]
struct Anything {
    value: Value,
    maybe: Option<Value>,
    map: HashMap<String, Value>,
    numbers: BTreeMap<String, f64>,
    pair: (f64, f64),
    mixed: (String, i64),
    nullable_items: Vec<Option<i64>>,
}

#[test]
fn anything_maps_and_tuples_are_typed_b25() {
    let form = form::<Anything>();
    assert_eq!(
        form["properties"]["value"],
        json!({ "$ref": "#/$defs/any-value" })
    );
    assert_eq!(
        form["properties"]["numbers"],
        json!({ "type": "object", "additionalProperties": { "type": "number" } })
    );
    let pair =
        json!({ "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "number" } });
    assert_eq!(form["properties"]["pair"], pair);
    assert_eq!(
        form["properties"]["mixed"]["prefixItems"],
        json!([{ "type": "string" }, { "type": "integer" }])
    );
    assert_eq!(
        form["properties"]["nullable_items"]["items"]["type"],
        json!(["integer", "null"])
    );
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: f64 },
    Wrapped(Inner),
    Unit,
}

#[derive(JsonSchema, Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    Number(i64),
    Object { z: bool },
}

#[derive(JsonSchema, Deserialize)]
struct Flat {
    a: i64,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    shape: Shape,
}

#[derive(JsonSchema, Deserialize)]
struct Alternatives {
    shape: Shape,
    either: Either,
    external: External,
}

#[derive(JsonSchema, Deserialize)]
enum External {
    Unit,
    Tuple(i64, String),
    Struct { q: String },
}

#[test]
fn alternatives_keep_accepting_what_serde_accepts() {
    let gate = |schema: Value| Schema::new(schema).unwrap();
    let form = form::<Alternatives>();
    let definition = tool_core::ToolDefinition::new("t", "d", gate(form));
    let check = |arguments: Value| definition.check(&tool_core::ToolCall::new("1", "t", arguments));
    for shape in [
        json!({ "kind": "Circle", "radius": 1.5 }),
        json!({ "kind": "Wrapped", "x": 3 }),
        json!({ "kind": "Unit" }),
    ] {
        for either in [json!("text"), json!(3), json!({ "z": true })] {
            for external in [
                json!("Unit"),
                json!({ "Tuple": [1, "a"] }),
                json!({ "Struct": { "q": "r" } }),
            ] {
                let arguments = json!({ "shape": shape, "either": either, "external": external });
                serde_json::from_value::<Alternatives>(arguments.clone()).unwrap();
                check(arguments).unwrap();
            }
        }
    }
    for wrong in [
        json!({ "kind": "Square" }),
        json!({ "kind": "Circle" }),
        json!(3),
    ] {
        check(json!({ "shape": wrong, "either": "a", "external": "Unit" })).unwrap_err();
    }
}

#[test]
fn flattened_fields_are_accepted() {
    let form = normalize(schema_of::<Flat>()).unwrap();
    let definition = tool_core::ToolDefinition::new("t", "d", Schema::new(form).unwrap());
    for shape in [
        json!({ "kind": "Circle", "radius": 1.5 }),
        json!({ "kind": "Unit" }),
    ] {
        let mut arguments = json!({ "a": 1, "x": 2 });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(shape.as_object().unwrap().clone());
        serde_json::from_value::<Flat>(arguments.clone()).unwrap();
        definition
            .check(&tool_core::ToolCall::new("1", "t", arguments))
            .unwrap();
    }
}

#[test]
fn a_root_that_is_no_object_is_refused_b26() {
    for schema in [
        schema_of::<String>(),
        schema_of::<Plain>(),
        schema_of::<Vec<i64>>(),
        json!(true),
    ] {
        let error = normalize(schema).unwrap_err().to_string();
        assert!(error.contains("object"), "{error}");
    }
}

#[test]
fn a_reference_that_does_not_resolve_is_refused() {
    let schema = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/Nowhere" } } });
    assert!(
        normalize(schema)
            .unwrap_err()
            .to_string()
            .contains("Nowhere")
    );
}

#[test]
fn references_of_draft_7_and_nested_definitions_are_lifted_b32() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "a": { "$ref": "#/definitions/A" },
            "b": { "type": "object", "properties": { "a": { "$ref": "#/definitions/A" } }, "definitions": { "B": { "type": "string" } } }
        },
        "definitions": { "A": { "type": "object", "properties": { "n": { "type": "integer" } } } }
    });
    let form = normalize(schema).unwrap();
    assert_well_formed(&form);
    assert_eq!(form["$defs"]["A"]["type"], "object");
    assert_eq!(
        form["properties"]["b"]["properties"]["a"],
        form["properties"]["a"]
    );
}
