//! The tools of a set to bytes.

use bytes::Bytes;
use serde_json::{Map, Value};
use tool_core::{ModelError, ModelErrorKind, Tool, ToolChoice, ToolDefinition, ToolSet};

use super::super::{json, schema};
use super::{ChatCompletions, NAME};

/// `{"tools":[…]`, the start of a body; `None` where no tool is declared.
pub(super) fn block(
    protocol: &ChatCompletions,
    tools: &ToolSet,
    choice: &ToolChoice,
) -> Result<Option<Bytes>, ModelError> {
    if tools.is_empty() {
        return Ok(None);
    }
    let strict = protocol.dialect().strict;
    match choice {
        ToolChoice::None if !protocol.dialect().tool_choice => Ok(None),
        ToolChoice::Tool(name) if !protocol.dialect().tool_choice => {
            let chosen = tools.get(name).into_iter();
            Ok(Some(render(chosen.map(|tool| &**tool), strict)?.into()))
        }
        _ => tools
            .render(protocol.key, || {
                render(tools.iter().map(|tool| &**tool), strict)
            })
            .map(Some),
    }
}

fn render<'a>(
    tools: impl Iterator<Item = &'a dyn Tool>,
    strict: bool,
) -> Result<Vec<u8>, ModelError> {
    let mut out = Vec::from(b"{\"tools\":[");
    for (position, tool) in tools.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        declaration(&mut out, tool.name(), tool.definition(), strict)?;
    }
    out.push(b']');
    Ok(out)
}

fn declaration(
    out: &mut Vec<u8>,
    name: &str,
    definition: &ToolDefinition,
    strict: bool,
) -> Result<(), ModelError> {
    let start = out.len();
    out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
    json::value(out, name);
    if !definition.description().is_empty() {
        out.extend_from_slice(b",\"description\":");
        json::value(out, definition.description());
    }
    out.extend_from_slice(b",\"parameters\":");
    if strict && definition.strict() == Some(true) {
        let lowered = schema::strict(definition.schema().as_value()).map_err(|fault| {
            let text = format!("the tool `{name}` cannot be strict: {fault}");
            ModelError::new(ModelErrorKind::Configuration, text)
        })?;
        json::value(out, &lowered);
        out.extend_from_slice(b",\"strict\":true");
    } else {
        out.extend_from_slice(definition.schema().as_json());
    }
    out.extend_from_slice(b"}}");
    let options: Vec<_> = definition.provider_options(NAME).collect();
    if !options.is_empty() {
        merge_into(out, start, options);
    }
    Ok(())
}

/// Merges the user's members into the declaration that begins at `start`.
fn merge_into(out: &mut Vec<u8>, start: usize, options: Vec<(&String, &Value)>) {
    if let Ok(Value::Object(mut declaration)) = serde_json::from_slice(&out[start..]) {
        for (key, value) in options {
            merge(&mut declaration, key, value);
        }
        out.truncate(start);
        json::value(out, &declaration);
    }
}

fn merge(target: &mut Map<String, Value>, key: &str, value: &Value) {
    match (target.get_mut(key), value) {
        (Some(Value::Object(inner)), Value::Object(members)) => {
            for (key, value) in members {
                merge(inner, key, value);
            }
        }
        _ => {
            target.insert(key.to_owned(), value.clone());
        }
    }
}
