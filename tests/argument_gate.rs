//! R3 and CASES.md D: the argument gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tool_core::{FunctionTool, Schema, Tool, ToolCall, ToolDefinition, ToolError};

fn definition(properties: Value, required: &[&str]) -> ToolDefinition {
    let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    ToolDefinition::new("t", "d", Schema::new(schema).unwrap())
}

fn check(
    definition: &ToolDefinition,
    arguments: impl Into<tool_core::Arguments>,
) -> Result<Value, String> {
    let call = ToolCall::new("1", "t", arguments);
    definition
        .check(&call)
        .map(Value::Object)
        .map_err(|error| error.to_string())
}

#[test]
fn nothing_is_no_arguments_b53() {
    let none = definition(json!({}), &[]);
    let some = definition(json!({ "x": { "type": "string" } }), &["x"]);
    for text in ["", " \n\t", "null", "{}", " null "] {
        assert_eq!(check(&none, text).unwrap(), json!({}), "{text:?}");
        assert_eq!(
            check(&some, text).unwrap_err(),
            "Invalid tool arguments: missing `x` (a string)",
            "{text:?}"
        );
    }
}

#[test]
fn a_container_in_a_string_is_decoded_only_where_a_container_is_wanted_b55() {
    let tool = definition(
        json!({
            "tags": { "type": "array", "items": { "type": "string" } },
            "s": { "type": "string" },
            "o": { "type": "object", "properties": { "a": { "type": "integer" } } }
        }),
        &[],
    );
    assert_eq!(
        check(&tool, json!({ "tags": "[\"a\"]" })).unwrap(),
        json!({ "tags": ["a"] })
    );
    assert_eq!(
        check(&tool, json!({ "s": "[1]" })).unwrap(),
        json!({ "s": "[1]" })
    );
    assert_eq!(
        check(&tool, json!({ "o": "{\"a\":1}" })).unwrap(),
        json!({ "o": { "a": 1 } })
    );
    let error = check(&tool, json!({ "tags": "[\"a\"" })).unwrap_err();
    assert_eq!(
        error,
        "Invalid tool arguments: /tags: expected an array, got the string \"[\\\"a\\\"\""
    );
    assert!(
        check(&tool, json!({ "o": "[1]" }))
            .unwrap_err()
            .contains("/o: expected an object")
    );
    let whole = Value::String(json!({ "s": "x" }).to_string()).to_string();
    assert_eq!(check(&tool, whole.as_str()).unwrap(), json!({ "s": "x" }));
}

#[test]
fn scalars_in_a_string_are_read_exactly_or_refused_b56() {
    let tool = definition(
        json!({ "max": { "type": "integer" }, "on": { "type": "boolean" }, "r": { "type": "number" } }),
        &[],
    );
    assert_eq!(
        check(&tool, json!({ "max": "200", "on": "true", "r": "1.5" })).unwrap(),
        json!({ "max": 200, "on": true, "r": 1.5 })
    );
    assert_eq!(
        check(&tool, json!({ "max": "20x" })).unwrap_err(),
        "Invalid tool arguments: /max: expected an integer, got the string \"20x\""
    );
    for wrong in [
        json!("5.5"),
        json!(""),
        json!(" 5"),
        json!("0x10"),
        json!("yes"),
        json!("1e400"),
    ] {
        check(&tool, json!({ "max": wrong })).unwrap_err();
    }
}

#[test]
fn a_whole_float_is_an_integer_and_nothing_wraps_b58() {
    let tool = definition(
        json!({ "n": { "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX }, "b": { "type": "integer" } }),
        &[],
    );
    let checked = check(&tool, r#"{"n":5.0}"#).unwrap();
    assert_eq!(checked["n"].as_i64(), Some(5));
    assert!(
        check(&tool, r#"{"n":5.5}"#)
            .unwrap_err()
            .contains("/n: expected an integer, got 5.5")
    );
    assert!(
        check(&tool, r#"{"n":4294967297}"#)
            .unwrap_err()
            .contains("/n: expected a number of at most 2147483647, got 4294967297")
    );
    assert_eq!(
        check(&tool, r#"{"b":-9.0e15}"#).unwrap()["b"].as_i64(),
        Some(-9_000_000_000_000_000)
    );
}

#[test]
fn all_faults_are_said_at_once_b59() {
    let tool = definition(
        json!({ "a": { "type": "integer", "minimum": 0, "maximum": 255 }, "b": { "type": "integer" } }),
        &["a", "b"],
    );
    let error = check(&tool, json!({ "a": "oops", "c": 1 })).unwrap_err();
    assert_eq!(
        error,
        "Invalid tool arguments: missing `b` (an integer); /a: expected an integer, got the string \"oops\"; \
         unknown key `c`; the known keys are `a`, `b`"
    );
    assert!(
        check(&tool, json!({ "a": 300, "b": 1 }))
            .unwrap_err()
            .contains("/a: expected a number of at most 255, got 300")
    );
}

#[test]
fn null_on_an_optional_is_absent_b61() {
    let tool = definition(
        json!({
            "limit": { "type": "integer" },
            "nested": { "type": "object", "properties": { "deep": { "type": "string" } } },
            "any": { "type": ["integer", "null"] }
        }),
        &[],
    );
    let checked = check(
        &tool,
        json!({ "limit": null, "nested": { "deep": null }, "any": null }),
    )
    .unwrap();
    assert_eq!(checked, json!({ "nested": {} }));
    let required = definition(json!({ "limit": { "type": "integer" } }), &["limit"]);
    assert!(
        check(&required, json!({ "limit": null }))
            .unwrap_err()
            .contains("/limit: expected an integer, got null")
    );
}

#[test]
fn unknown_keys_are_refused_with_the_known_ones_b62_b70() {
    let tool = definition(json!({ "id": { "type": "integer" } }), &["id"]);
    let error = check(&tool, json!({ "id": 1, "tool_call": { "id": "evil" } })).unwrap_err();
    assert_eq!(
        error,
        "Invalid tool arguments: unknown key `tool_call`; the known keys are `id`"
    );
    let none = definition(json!({}), &[]);
    assert!(
        check(&none, json!({ "x": 1 }))
            .unwrap_err()
            .contains("unknown key `x`; there are none")
    );
}

#[test]
fn a_key_that_comes_twice_is_refused_b67() {
    let tool = definition(json!({ "a": { "type": "integer" } }), &["a"]);
    assert!(
        check(&tool, r#"{"a":1,"a":2}"#)
            .unwrap_err()
            .contains("the key `a` comes twice")
    );
}

#[test]
fn broken_json_is_called_that_b68() {
    let tool = definition(json!({ "a": { "type": "string" } }), &["a"]);
    let error = check(&tool, r#"{"a": "b"#).unwrap_err();
    assert!(
        error.starts_with("Invalid tool arguments: not valid JSON at column "),
        "{error}"
    );
    for text in ["{", "[1", "{\"a\":}", "hello", "{\"a\":\"x\"} trailing"] {
        assert!(
            check(&tool, text).unwrap_err().contains("not valid JSON"),
            "{text}"
        );
    }
    for text in ["[1]", "3", "true", "\"text\""] {
        assert!(
            check(&tool, text)
                .unwrap_err()
                .contains("expected an object"),
            "{text}"
        );
    }
}

#[test]
fn paths_are_json_pointers_into_nested_values() {
    let tool = definition(
        json!({ "a/b": { "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false } } }),
        &[],
    );
    let error = check(&tool, json!({ "a/b": [{ "n": 1 }, { "n": "x", "m": 1 }] })).unwrap_err();
    assert!(
        error.contains("/a~1b/1/n: expected an integer, got the string \"x\""),
        "{error}"
    );
    assert!(
        error.contains("/a~1b/1: unknown key `m`; the known keys are `n`"),
        "{error}"
    );
}

#[test]
fn bounds_patterns_and_enums_are_checked() {
    let tool = definition(
        json!({
            "code": { "type": "string", "pattern": "^[A-Z]{3}$" },
            "name": { "type": "string", "minLength": 2, "maxLength": 3 },
            "list": { "type": "array", "items": { "type": "integer" }, "minItems": 1, "maxItems": 2, "uniqueItems": true },
            "unit": { "type": "string", "enum": ["m", "ft"] },
            "step": { "type": "number", "multipleOf": 0.5, "exclusiveMinimum": 0 }
        }),
        &[],
    );
    check(
        &tool,
        json!({ "code": "ABC", "name": "äöü", "list": [1, 2], "unit": "m", "step": 1.5 }),
    )
    .unwrap();
    for (wrong, words) in [
        (json!({ "code": "abc" }), "matches `^[A-Z]{3}$`"),
        (json!({ "name": "é" }), "at least 2 characters, got 1"),
        (json!({ "name": "abcd" }), "at most 3 characters, got 4"),
        (json!({ "list": [] }), "at least 1 item, got 0"),
        (json!({ "list": [1, 1] }), "differ from each other"),
        (
            json!({ "unit": "km" }),
            "expected one of `m`, `ft`, got the string \"km\"",
        ),
        (json!({ "step": 0 }), "greater than 0"),
        (json!({ "step": 0.7 }), "multiple of 0.5"),
    ] {
        let error = check(&tool, wrong).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

/// As schemars describes an enum whose variants have data, untagged, tagged inside and tagged by their key.
#[test]
fn a_value_that_fits_no_alternative_is_compared_with_the_one_that_it_names_r3() {
    let inside = json!({ "oneOf": [
        { "type": "object", "properties": { "kind": { "type": "string", "const": "circle" }, "radius": { "type": "number" } },
          "required": ["kind", "radius"], "additionalProperties": false },
        { "type": "object", "properties": { "kind": { "type": "string", "const": "box" }, "wide": { "type": "number" }, "high": { "type": "number" } },
          "required": ["kind", "wide", "high"], "additionalProperties": false },
        { "type": "object", "properties": { "kind": { "type": "string", "const": "point" } },
          "required": ["kind"], "additionalProperties": false },
    ] });
    let by_key = json!({ "oneOf": [
        { "type": "string", "enum": ["nothing", "all"] },
        { "type": "object", "properties": { "first": { "type": "integer" } }, "required": ["first"], "additionalProperties": false },
        { "type": "object", "properties": { "range": { "type": "object", "properties": { "from": { "type": "integer" }, "to": { "type": "integer" } },
          "required": ["from", "to"], "additionalProperties": false } }, "required": ["range"], "additionalProperties": false },
    ] });
    let or_null = json!({ "anyOf": [inside, { "type": "null" }] });
    let definition = definition(
        json!({ "shape": inside, "lines": by_key, "or_null": or_null }),
        &[],
    );
    for (arguments, expected) in [
        // The variant that is named, though another one has fewer faults.
        (
            json!({ "shape": { "kind": "box", "wide": "w", "high": "h", "radius": 1 } }),
            "/shape/wide: expected a number, got the string \"w\"; /shape/high: expected a number, got the string \"h\"; /shape: unknown key `radius`; the known keys are `kind`, `wide`, `high`",
        ),
        (
            json!({ "shape": { "kind": "box" } }),
            "/shape: missing `wide` (a number); /shape: missing `high` (a number)",
        ),
        (
            json!({ "shape": { "kind": "oval", "radius": 1 } }),
            "/shape/kind: expected one of `circle`, `box`, `point`, got the string \"oval\"",
        ),
        (
            json!({ "shape": { "radius": 1 } }),
            "/shape: missing `kind` (one of `circle`, `box`, `point`)",
        ),
        (
            json!({ "shape": { "kind": 1 } }),
            "/shape/kind: expected one of `circle`, `box`, `point`, got 1",
        ),
        (
            json!({ "shape": "circle" }),
            "/shape: expected an object with `kind`, got the string \"circle\"",
        ),
        (
            json!({ "or_null": { "kind": "box", "wide": "w" } }),
            "/or_null: missing `high` (a number); /or_null/wide: expected a number, got the string \"w\"",
        ),
        (
            json!({ "or_null": 1 }),
            "/or_null: expected an object with `kind`, got 1",
        ),
        (
            json!({ "lines": { "range": { "from": "a", "to": "b", "by": 1 } } }),
            "/lines/range/from: expected an integer, got the string \"a\"; /lines/range/to: expected an integer, got the string \"b\"; /lines/range: unknown key `by`; the known keys are `from`, `to`",
        ),
        (
            json!({ "lines": { "last": 1 } }),
            "/lines: expected one of `nothing`, `all` or an object with `first` or an object with `range`, got an object with `last`",
        ),
        (
            json!({ "lines": {} }),
            "/lines: expected one of `nothing`, `all` or an object with `first` or an object with `range`, got an object",
        ),
        (
            json!({ "lines": { "first": 1, "range": { "from": 1, "to": 2 } } }),
            "/lines: unknown key `range`; the known keys are `first`",
        ),
        (
            json!({ "lines": "first" }),
            "/lines: expected one of `nothing`, `all` or an object with `first` or an object with `range`, got the string \"first\"",
        ),
        (
            json!({ "lines": 1 }),
            "/lines: expected one of `nothing`, `all` or an object with `first` or an object with `range`, got 1",
        ),
    ] {
        let text = check(&definition, arguments.to_string().as_str()).unwrap_err();
        assert_eq!(
            text,
            format!("Invalid tool arguments: {expected}"),
            "{arguments}"
        );
    }
    for fits in [
        json!({ "shape": { "kind": "point" }, "lines": "all" }),
        json!({ "shape": { "kind": "circle", "radius": "1.5" }, "lines": { "range": { "from": 1, "to": "2" } } }),
    ] {
        check(&definition, fits.to_string().as_str()).unwrap();
    }
}

#[tokio::test]
async fn bad_arguments_never_reach_the_tool_b64() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = runs.clone();
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tool = FunctionTool::new("t", "d", schema, move |arguments: Value| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, ToolError>(arguments["n"].as_i64()) }
    })
    .unwrap();
    for wrong in [json!({}), json!({ "n": "x" }), json!("{"), json!([1])] {
        tool.call(wrong).await.unwrap_err();
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(tool.call(json!({ "n": 5 })).await.unwrap().as_text(), "5");
    assert_eq!(tool.call(json!("{\"n\": 6}")).await.unwrap().as_text(), "6");
}

#[test]
fn huge_and_deep_arguments_do_not_break_the_gate() {
    let tool = definition(json!({ "s": { "type": "string" } }), &["s"]);
    let long = "é".repeat(5_000_000);
    assert_eq!(
        check(&tool, json!({ "s": long })).unwrap()["s"]
            .as_str()
            .unwrap()
            .len(),
        10_000_000
    );
    let deep = format!("{{\"s\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(check(&tool, deep).unwrap_err().contains("recursion limit"));
    let error = check(&tool, json!({ "s": ["x".repeat(1_000_000)] })).unwrap_err();
    assert!(error.len() < 200, "an error does not repeat a huge value");
}

/// Work that doubled with every level would not come to an end here.
#[test]
fn alternatives_within_alternatives_are_compared_in_bounded_work() {
    let variant = |op: &str, sides: &[&str]| {
        let mut properties = json!({ "op": { "type": "string", "const": op } });
        let mut required = vec!["op"];
        for side in sides {
            properties[*side] = json!({ "$ref": "#/$defs/Expr" });
            required.push(side);
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    let number = json!({ "type": "object", "properties": { "op": { "type": "string", "const": "number" }, "value": { "type": "integer" } },
        "required": ["op", "value"], "additionalProperties": false });
    let by_key = |key: &str| json!({ "type": "object", "properties": { key: { "$ref": "#/$defs/Filter" } }, "required": [key], "additionalProperties": false });
    let same_key = |other: &str| json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/List" }, other: { "type": "integer" } } });
    let schema = json!({
        "type": "object",
        "properties": { "expr": { "$ref": "#/$defs/Expr" }, "filter": { "$ref": "#/$defs/Filter" }, "list": { "$ref": "#/$defs/List" } },
        "$defs": {
            "Expr": { "oneOf": [variant("add", &["left", "right"]), variant("mul", &["left", "right"]), variant("neg", &["left"]), number] },
            "Filter": { "anyOf": [by_key("not"), by_key("any"), by_key("all"), { "type": "integer" }] },
            "List": { "anyOf": [same_key("a"), same_key("b"), same_key("c"), { "type": "integer" }] },
        },
    });
    let definition = ToolDefinition::new("t", "d", Schema::new(schema).unwrap());
    let nest =
        |value: Value, wrap: &dyn Fn(Value) -> Value| (0..50).fold(value, |value, _| wrap(value));
    let leaf = |value: Value| json!({ "op": "number", "value": value });
    let add = |value| json!({ "left": value, "op": "add", "right": leaf(json!(1)) });
    let not = |value| json!({ "not": value });
    let next = |value| json!({ "next": value });
    for (key, wrap, innermost) in [
        (
            "expr",
            &add as &dyn Fn(Value) -> Value,
            &leaf as &dyn Fn(Value) -> Value,
        ),
        ("filter", &not, &|value| value),
    ] {
        for (value, fault) in [
            (json!(1), None),
            (json!("1"), None),
            (json!("x"), Some("an integer, got the string \"x\"")),
        ] {
            let arguments = json!({ key: nest(innermost(value), wrap) }).to_string();
            match (check(&definition, arguments.as_str()), fault) {
                (Ok(_), None) => {}
                (Err(text), Some(fault)) => assert!(text.ends_with(fault), "{text}"),
                (result, _) => panic!("{key}: {result:?}"),
            }
        }
    }
    check(
        &definition,
        json!({ "list": nest(json!(1), &next) })
            .to_string()
            .as_str(),
    )
    .unwrap();
    let list = json!({ "list": nest(json!("x"), &next) }).to_string();
    let text = check(&definition, list.as_str()).unwrap_err();
    assert!(text.contains("nest it less deeply"), "{text}");
}

#[test]
fn a_pattern_that_cannot_be_checked_stays_in_the_schema_and_lets_values_in() {
    for pattern in [r"^\p{L}+$", "^(?!x).*$", r"^(a)\1$"] {
        let tool = definition(
            json!({ "a": { "type": "string", "pattern": pattern } }),
            &[],
        );
        assert_eq!(
            tool.schema().as_value()["properties"]["a"]["pattern"],
            pattern
        );
        check(&tool, json!({ "a": "anything" })).unwrap();
        check(&tool, json!({ "a": 1 })).unwrap_err();
    }
}

#[test]
fn keys_that_must_match_a_pattern_are_told_r3() {
    let map = json!({ "type": "object", "patternProperties": { "^[0-9]+$": { "type": "string" } }, "additionalProperties": false });
    let tool = definition(json!({ "by_number": map }), &[]);
    check(&tool, json!({ "by_number": { "7": "a" } })).unwrap();
    let error = check(&tool, json!({ "by_number": { "x": "a" } })).unwrap_err();
    assert!(
        error.contains("/by_number: unknown key `x`; keys match `^[0-9]+$`"),
        "{error}"
    );
}
