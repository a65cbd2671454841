//! M4, M5: parameters and their schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use tool_core::{Tool, ToolCall, tool};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Units {
    Metric,
    Imperial,
}

const DAYS: u32 = 3;

fn yesterday() -> i64 {
    -1
}

fn schema(tool: &dyn Tool) -> Value {
    tool.definition().schema().as_value().clone()
}

async fn run(tool: &dyn Tool, arguments: Value) -> String {
    match tool.call(arguments).await {
        Ok(output) => output.as_text().to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

/// Takes defaults.
#[tool]
#[allow(clippy::too_many_arguments)]
fn defaults(
    #[param(default)] flag: bool,
    #[param(default)] count: u32,
    #[param(default = DAYS)] days: u32,
    #[param(default = -2)] offset: i32,
    #[param(default = "Berlin")] city: String,
    #[param(default = "Europe")] region: &str,
    #[param(default = "EU")] code: Option<String>,
    #[param(default = Units::Metric)] units: Units,
    #[param(default = { vec![1, 2] })] list: Vec<u8>,
    #[serde(default)] tail: Vec<u8>,
    #[serde(default = "yesterday")] start: i64,
) -> String {
    format!(
        "{flag} {count} {days} {offset} {city} {region} {code:?} {units:?} {list:?} {tail:?} {start}"
    )
}

#[tokio::test]
async fn m4_defaults_make_a_parameter_optional() {
    let all = "false 0 3 -2 Berlin Europe Some(\"EU\") Metric [1, 2] [] -1";
    assert_eq!(run(&Defaults, json!({})).await, all);
    let schema = schema(&Defaults);
    assert!(
        schema
            .get("required")
            .is_none_or(|required| required == &json!([])),
        "{schema}"
    );
    let of = |name: &str| schema["properties"][name].get("default").cloned();
    assert_eq!(of("flag"), Some(json!(false)));
    assert_eq!(of("count"), Some(json!(0)));
    assert_eq!(of("offset"), Some(json!(-2)));
    assert_eq!(of("city"), Some(json!("Berlin")));
    assert_eq!(of("region"), Some(json!("Europe")));
    assert_eq!(of("tail"), Some(json!([])));
    assert_eq!(of("days"), None);
}

#[tokio::test]
async fn m4_b61_null_is_absent() {
    assert!(
        run(&Defaults, json!({"days": null, "code": null}))
            .await
            .contains(" 3 -2 Berlin Europe Some(\"EU\")")
    );
}

/// Takes options under every spelling.
#[tool]
fn options(bare: Option<u32>, full: std::option::Option<u32>, alias: Maybe<u32>) -> String {
    format!("{bare:?} {full:?} {alias:?}")
}

type Maybe<T> = Option<T>;

#[tokio::test]
async fn m4_b29_b34_b35_an_option_is_optional_under_every_spelling() {
    assert_eq!(run(&Options, json!({})).await, "None None None");
    let schema = schema(&Options);
    assert!(
        schema
            .get("required")
            .is_none_or(|required| required == &json!([])),
        "{schema}"
    );
    for name in ["bare", "full", "alias"] {
        assert_eq!(schema["properties"][name]["type"], "integer", "{schema}");
        assert_eq!(schema["properties"][name].get("nullable"), None);
    }
}

/// Takes what is limited.
#[tool]
#[allow(clippy::too_many_arguments)]
fn limited(
    #[param(range = 1..=100)] closed: u32,
    #[param(range = 1..100)] half_open: i64,
    #[param(range = -1.5..0.5)] float: f64,
    #[param(range = 0..1)] fraction: f32,
    #[param(range = 1..)] open: u8,
    #[param(length = 1..=20)] text: String,
    #[param(length = ..3)] list: Vec<u8>,
    #[param(pattern = "^[a-z]+$", example = "abc", example = "x")] word: String,
    #[param(example = { "a": [1, true, null] })] value: Value,
    #[schemars(range(min = 1, max = 5), description = "One to five.", example = 2)] stars: u8,
    #[schemars(length(equal = 2), regex(pattern = "^..$"))] code: String,
) {
    let _ = (
        closed, half_open, float, fraction, open, text, list, word, value, stars, code,
    );
}

#[test]
fn m4_limits_are_in_the_schema() {
    let schema = schema(&Limited);
    let has = |name: &str, key: &str, value: Value| {
        assert_eq!(
            schema["properties"][name][key], value,
            "{name}.{key} in {schema:#}"
        );
    };
    has("closed", "minimum", json!(1));
    has("closed", "maximum", json!(100));
    has("half_open", "maximum", json!(99));
    has("float", "minimum", json!(-1.5));
    has("float", "exclusiveMaximum", json!(0.5));
    has("fraction", "exclusiveMaximum", json!(1));
    has("open", "minimum", json!(1));
    has("text", "minLength", json!(1));
    has("text", "maxLength", json!(20));
    has("list", "maxItems", json!(2));
    has("word", "pattern", json!("^[a-z]+$"));
    has("word", "examples", json!(["abc", "x"]));
    has("value", "examples", json!([{"a": [1, true, null]}]));
    has("stars", "maximum", json!(5));
    has("stars", "description", json!("One to five."));
    has("stars", "examples", json!([2]));
    has("code", "minLength", json!(2));
    has("code", "maxLength", json!(2));
    has("code", "pattern", json!("^..$"));
}

fn shouted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| text.to_uppercase())
}

mod doubled {
    use super::{Deserialize, Deserializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        u32::deserialize(deserializer).map(|number| number * 2)
    }
}

/// Takes renamed ones.
#[tool]
fn renamed(
    #[serde(rename = "q")] query: String,
    #[param(rename = "per-page", alias = "limit", alias = "n")] limit: u32,
    #[serde(deserialize_with = "shouted")] name: String,
    #[serde(with = "doubled")] number: u32,
) -> String {
    format!("{query} {limit} {name} {number}")
}

#[tokio::test]
async fn m4_b07_b16_words_of_serde_work_on_parameters() {
    let properties = schema(&Renamed)["properties"].clone();
    let names: Vec<&String> = properties.as_object().expect("object").keys().collect();
    assert_eq!(names, ["q", "per-page", "name", "number"]);
    let arguments = json!({"q": "a", "per-page": 1, "name": "ada", "number": 2});
    assert_eq!(run(&Renamed, arguments).await, "a 1 ADA 4");
    let arguments = json!({"q": "a", "limit": 1, "name": "ada", "number": 2});
    assert_eq!(run(&Renamed, arguments).await, "a 1 ADA 4");
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    #[serde(default)]
    children: Vec<Tree>,
}

/// Takes all kinds of types.
#[tool]
#[allow(clippy::too_many_arguments)]
fn kinds(
    tree: Tree,
    pair: (u8, String),
    map: BTreeMap<String, i32>,
    any: Value,
    letter: char,
    nested: Vec<Option<Units>>,
    array: [u8; 2],
    nothing: Option<Vec<Tree>>,
) -> String {
    format!(
        "{} {} {pair:?} {map:?} {any} {letter} {nested:?} {array:?} {}",
        tree.name,
        tree.children.len(),
        nothing.is_none()
    )
}

#[tokio::test]
async fn m4_b28_b31_all_kinds_of_types_are_read() {
    let arguments = json!({
        "tree": {"name": "root", "children": [{"name": "leaf"}]},
        "pair": [1, "a"], "map": {"x": -1}, "any": {"free": []}, "letter": "ß",
        "nested": ["metric"], "array": [1, 2],
    });
    let text = "root 1 (1, \"a\") {\"x\": -1} {\"free\":[]} ß [Some(Metric)] [1, 2] true";
    assert_eq!(run(&Kinds, arguments).await, text);
    let schema = schema(&Kinds);
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["additionalProperties"], json!(false));
    assert!(schema["$defs"]["Tree"].is_object(), "{schema:#}");
}

/// Checks a literal.
#[tool(schema = {
    "type": "object",
    "properties": {
        "city": { "type": "string", "description": "A city.", "minLength": 1 },
        "days": { "type": "integer", "default": 3 },
        "tags": { "type": ["array", "null"], "items": { "$ref": "#/$defs/Tag" } },
    },
    "required": ["city", "tags"],
    "additionalProperties": false,
    "$defs": { "Tag": { "type": "string" } },
})]
fn explicit(
    city: String,
    #[param(default = 3)] days: u32,
    tags: Option<Vec<String>>,
    tool_call: &ToolCall,
) -> String {
    format!("{city} {days} {tags:?} {}", tool_call.id)
}

#[tokio::test]
async fn m5_b71_a_literal_is_the_schema() {
    let schema = schema(&Explicit);
    assert_eq!(schema["properties"]["city"]["minLength"], 1);
    assert_eq!(schema["properties"].get("tool_call"), None);
    let arguments = json!({"city": "Ulm", "tags": null});
    assert_eq!(run(&Explicit, arguments).await, "Ulm 3 None detached");
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Search {
    /// What to look for.
    query: String,
    units: Units,
    limit: Option<u32>,
}

/// Checks a type.
#[tool(schema = Search)]
fn typed(query: String, units: Units, limit: Option<u32>) -> String {
    format!("{query} {units:?} {limit:?}")
}

#[tokio::test]
async fn m5_a_type_is_the_schema() {
    let schema = schema(&Typed);
    assert_eq!(
        schema["properties"]["query"]["description"],
        "What to look for."
    );
    let arguments = json!({"query": "a", "units": "metric"});
    assert_eq!(run(&Typed, arguments).await, "a Metric None");
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is wanted")]
struct Wrong {
    q: i32,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is wanted")]
struct Extra {
    q: String,
    extra: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is wanted")]
struct Lax {
    q: Option<String>,
}

/// Is of another type.
#[tool(schema = Wrong)]
fn wrong_types(q: String) -> String {
    q
}

/// Has more.
#[tool(schema = Extra)]
fn has_more(q: String) -> String {
    q
}

/// May be left out.
#[tool(schema = Lax)]
fn left_out(q: String) -> String {
    q
}

/// Has less.
#[tool(schema = Lax)]
fn less(q: Option<String>, other: Option<u8>) -> String {
    format!("{q:?} {other:?}")
}

#[test]
fn m5_a_type_that_does_not_agree_with_the_signature_is_refused_when_the_tool_is_built() {
    let cases: [(&dyn Tool, &str); 4] = [
        (
            &WrongTypes,
            "the property `q` is of type `integer`, but the parameter of type `string`",
        ),
        (
            &HasMore,
            "it has the property `extra`, and no parameter is called that",
        ),
        (
            &LeftOut,
            "the property `q` may be left out, but the parameter has no default",
        ),
        (&Less, "it has no property `other`"),
    ];
    for (tool, words) in cases {
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tool.definition().name().to_owned()
        }));
        let text = refused
            .unwrap_err()
            .downcast_ref::<String>()
            .unwrap()
            .clone();
        assert!(text.contains(words), "{text}");
    }
}
