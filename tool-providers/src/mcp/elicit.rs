//! What a server wants to know from the user.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value};
use tool_core::{Answer, ToolCall, ToolError};

/// Asks the user in the name of a call.
pub(super) async fn ask(
    call: &ToolCall,
    request: &ElicitRequestParams,
) -> Result<ElicitResult, ToolError> {
    match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let answer = call.ask(message, fields(requested_schema)).await?;
            Ok(settled(answer, true))
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            Ok(settled(call.ask_to_visit(message, url).await?, false))
        }
        _ => Ok(ElicitResult::new(ElicitationAction::Decline)),
    }
}

fn settled(answer: Answer, has_fields: bool) -> ElicitResult {
    match answer.into_value() {
        None => ElicitResult::new(ElicitationAction::Decline),
        Some(value) if has_fields => {
            ElicitResult::new(ElicitationAction::Accept).with_content(value)
        }
        Some(_) => ElicitResult::new(ElicitationAction::Accept),
    }
}

/// The fields of a form, each with its title where it has no description.
fn fields(schema: &ElicitationSchema) -> Value {
    let schema = serde_json::to_value(schema).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else {
        return Value::Object(Map::new());
    };
    let mut fields = properties.clone();
    for (name, field) in &mut fields {
        describe(field);
        if let Value::Object(field) = field
            && required.iter().any(|required| required == name)
        {
            field.insert("required".into(), true.into());
        }
    }
    Value::Object(fields)
}

fn describe(node: &mut Value) {
    let Value::Object(map) = node else { return };
    let title = map.get("title").cloned();
    if let (Some(title), false) = (title, map.contains_key("description")) {
        map.insert("description".into(), title);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(choices)) = map.get_mut(key) {
            choices.iter_mut().for_each(describe);
        }
    }
    if let Some(items) = map.get_mut("items") {
        describe(items);
    }
}
