//! What a server wants to know from the user.

use rmcp::ServiceError;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ErrorCode,
    ServerResult,
};
use serde_json::{Map, Value};
use tool_core::{Answer, ToolCall, ToolError};

/// The code of an error that says that the user has to visit a page first.
const PAGES_REQUIRED: ErrorCode = ErrorCode(-32_042);

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

/// The pages that the user has to visit before a call can be made, where that is why it was refused.
pub(super) fn pages(
    reply: &Result<ServerResult, ServiceError>,
) -> Option<Vec<ElicitRequestParams>> {
    let Err(ServiceError::McpError(refused)) = reply else {
        return None;
    };
    let pages = refused.data.as_ref()?.get("elicitations")?;
    let pages: Vec<ElicitRequestParams> = serde_json::from_value(pages.clone()).ok()?;
    (refused.code == PAGES_REQUIRED && !pages.is_empty()).then_some(pages)
}

/// Has the user visit these pages, all of them.
pub(super) async fn visit(call: &ToolCall, pages: &[ElicitRequestParams]) -> Result<(), ToolError> {
    for page in pages {
        let answer = ask(call, page).await?;
        if answer.action != ElicitationAction::Accept {
            return Err(ToolError::new(
                "The user did not visit the page that the server asks for.",
            ));
        }
    }
    Ok(())
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
