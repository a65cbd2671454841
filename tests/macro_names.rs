//! M3: names.

use serde_json::json;
use tool_core::{Named, Tool, tool};

/// One letter.
#[tool]
fn g(g: u8) -> u8 {
    g
}

/// A raw name.
#[tool]
fn r#move(r#type: String) -> String {
    r#type
}

/// Marked letters.
#[tool]
fn größe_in_zoll(länge: f64) -> f64 {
    länge / 2.54
}

/// Another script.
#[tool(name = "search")]
fn 搜索() {}

/// A tool.
#[tool]
fn weather_tool() {}

/// A class of names that the generated code uses too.
#[tool]
fn call(call: u8, arguments: u8, value: u8, error: u8, task: u8, value_0: u8, tool: u8) -> u8 {
    call + arguments + value + error + task + value_0 + tool
}

macro_rules! named {
    ($($ty:ident => $name:literal;)*) => {$(
        struct $ty;

        /// Has a name.
        #[tool]
        impl $ty {
            fn execute(&self) {}
        }

        assert_eq!($ty.name(), $name);
        assert_eq!($ty::NAME, $name);
    )*};
}

#[test]
fn m3_a_type_gives_its_name_in_snake_case() {
    named! {
        WeatherLookup => "weather_lookup";
        WeatherTool => "weather";
        HTTPGet => "http_get";
        GetHTTP => "get_http";
        Sha256Sum => "sha256_sum";
        Tool2 => "tool2";
        Überblick => "uberblick";
        Smørrebrød => "smorrebrod";
        Œuvre => "oeuvre";
        Straße => "strasse";
    }
}

#[tokio::test]
async fn m3_b01_b02_short_and_raw_names_work() {
    assert_eq!(G.name(), "g");
    assert_eq!(G.call(json!({"g": 3})).await.expect("g").as_text(), "3");
    assert_eq!(Move.name(), "move");
    assert_eq!(
        Move.call(json!({"type": "x"})).await.expect("x").as_text(),
        "x"
    );
    assert_eq!(WeatherTool.name(), "weather");
}

#[tokio::test]
async fn m3_b77_names_are_reduced_to_ascii() {
    assert_eq!(GrößeInZoll.name(), "grosse_in_zoll");
    assert_eq!(
        GrößeInZoll
            .call(json!({"lange": 2.54}))
            .await
            .expect("inch")
            .as_text(),
        "1.0"
    );
    assert_eq!(搜索Tool.name(), "search");
}

#[tokio::test]
async fn m9_parameters_may_have_the_names_of_generated_locals() {
    let arguments = json!({"call": 1, "arguments": 1, "value": 1, "error": 1, "task": 1, "value_0": 1, "tool": 1});
    assert_eq!(Call.call(arguments).await.expect("sum").as_text(), "7");
}
