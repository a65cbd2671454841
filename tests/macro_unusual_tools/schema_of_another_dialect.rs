use serde_json::json;
use tool_core::{Tool, tool};

/// Uses what other descriptions of JSON have.
#[tool(schema = {
    "type": "object",
    "title": "Search",
    "properties": {
        "query": { "anyOf": [{ "type": "string" }, { "type": "null" }], "x-order": 1, "nullable": true },
        "kind": { "const": "shop", "example": "shop" },
        "size": { "type": ["number", "null"], "multipleOf": 0.5 },
        "free": true,
        "deep": { "type": "object", "patternProperties": { "^a": false }, "additionalProperties": { "type": "array", "prefixItems": [{}] } }
    },
    "required": ["query", "kind", "free", "deep"],
    "dependentRequired": { "size": ["kind"] },
    "if": { "required": ["size"] },
    "then": {},
})]
fn search(
    query: Option<String>,
    kind: String,
    size: Option<f64>,
    free: serde_json::Value,
    deep: std::collections::BTreeMap<String, Vec<u8>>,
) -> String {
    format!("{query:?} {kind} {size:?} {free} {deep:?}")
}

#[tokio::test]
async fn m9_schema_of_another_dialect() {
    let arguments = json!({"query": null, "kind": "shop", "free": 1, "deep": {"b": [2]}});
    let output = Search.call(arguments).await.expect("output");
    assert_eq!(output.as_text(), r#"None shop None 1 {"b": [2]}"#);
}
