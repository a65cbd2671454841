use tool_core::tool;

#[derive(Debug, tool_core::serde::Deserialize, tool_core::schemars::JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
enum Units {
    Metric,
}

/// Gets the weather.
#[tool]
fn weather(#[param(default)] value: Units) -> String {
    format!("{value:?}")
}

fn main() {}
