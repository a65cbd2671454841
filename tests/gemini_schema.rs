//! P3 and CASES.md C: a tool's schema as Gemini takes it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_core::{Schema, Tool, tool};
use tool_providers::protocol::gemini::parameters;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    /// Celsius.
    Metric,
    /// Fahrenheit.
    Imperial,
}

/// Reports.
#[tool]
fn report(units: Units, limit: Option<i64>, values: Vec<Option<i64>>) {
    let _ = (units, limit, values);
}

#[test]
fn p3_b46_one_list_for_an_enum_and_no_array_of_types() {
    let lowered = parameters(Report.definition().schema().as_value());
    let units = json!({
        "type": "string",
        "enum": ["metric", "imperial"],
        "description": "- `metric`: Celsius.\n- `imperial`: Fahrenheit."
    });
    assert_eq!(lowered["properties"]["units"], units);
    assert_eq!(lowered["properties"]["limit"], json!({ "type": "integer" }));
    assert_eq!(
        lowered["properties"]["values"]["items"],
        json!({ "nullable": true, "type": "integer" })
    );
    assert_eq!(lowered["required"], json!(["units", "values"]));
}

#[test]
fn p3_b47_numbers_are_bounds_and_words_and_unknown_keys_are_gone() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "level": { "type": "integer", "enum": [3, 1, 2], "description": "How loud." },
            "map": { "type": "object", "propertyNames": { "pattern": "^a" }, "additionalProperties": { "type": "string" } },
            "share": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
            "day": { "type": "string", "format": "date" },
            "either": { "oneOf": [{ "const": "a" }, { "type": "integer" }, { "type": "null" }] }
        },
        "required": ["level"]
    });
    let normal = Schema::new(schema).unwrap();
    let lowered = parameters(normal.as_value());
    let level = json!({ "type": "integer", "minimum": 1, "maximum": 3, "description": "How loud. (one of 3, 1, 2)" });
    assert_eq!(lowered["properties"]["level"], level);
    assert_eq!(lowered["properties"]["map"], json!({ "type": "object" }));
    assert_eq!(
        lowered["properties"]["share"]["description"],
        "greater than 0; less than 1"
    );
    assert_eq!(
        lowered["properties"]["day"],
        json!({ "type": "string", "description": "format: date" })
    );
    let text = lowered.to_string();
    for gone in [
        "$schema",
        "additionalProperties",
        "propertyNames",
        "\"const\"",
        "oneOf",
        "exclusive",
    ] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    // What the model then sends as text is read back as the number, and held to the list.
    let definition = tool_core::ToolDefinition::new("t", "d", normal);
    let check = |level: Value| {
        definition.check(&tool_core::ToolCall::new(
            "1",
            "t",
            json!({ "level": level }),
        ))
    };
    assert_eq!(check(json!("2")).unwrap()["level"], 2);
    assert!(
        check(json!("4"))
            .unwrap_err()
            .to_string()
            .contains("one of `3`, `1`, `2`")
    );
}
