//! What the client's user is asked, and what the answer means for the call.

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
};
use serde_json::{Value, json};
use tool_core::{Chat, InputRequest as Question, PendingApproval};

/// A question, and which call waits for it.
pub(super) enum Form {
    Approval(PendingApproval),
    Input(Question),
}

impl Form {
    /// What a call waits for first, if it waits for anyone.
    pub(super) fn of(chat: &Chat) -> Option<Form> {
        let approval = chat.pending_approvals().into_iter().next();
        let input = || chat.pending_inputs().into_iter().next();
        approval
            .map(Form::Approval)
            .or_else(|| input().map(Form::Input))
    }

    /// Whether a page is to be visited instead of a form filled.
    pub(super) fn is_url(&self) -> bool {
        matches!(self, Form::Input(question) if question.url.is_some())
    }

    /// Why the call cannot go on with a client that cannot ask.
    pub(super) fn refusal(&self) -> String {
        match self {
            Form::Approval(call) => format!(
                "The call of `{}` needs the approval of a person, and this client cannot ask one: it has no elicitation.",
                call.name
            ),
            Form::Input(question) => format!(
                "`{}` asks the user something, and this client cannot: it has no elicitation for it. The question is: {}",
                question.tool, question.question
            ),
        }
    }

    /// The question as the protocol has it.
    pub(super) fn request(&self) -> Result<ElicitRequestParams, String> {
        let (message, schema) = match self {
            Form::Approval(call) => {
                let message = format!("Allow the call of `{}` with {}?", call.name, call.arguments);
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "allow": { "type": "boolean", "description": "Whether the call may run." },
                        "reason": { "type": "string", "description": "Why not." }
                    },
                    "required": ["allow"]
                });
                (message, schema)
            }
            Form::Input(question) => {
                if let Some(url) = &question.url {
                    return Ok(ElicitRequestParams::UrlElicitationParams {
                        meta: None,
                        message: question.question.clone(),
                        url: url.clone(),
                        elicitation_id: question.call_id.clone(),
                    });
                }
                (question.question.clone(), question.schema.clone())
            }
        };
        let schema = schema.as_object().cloned().unwrap_or_default();
        let requested_schema = ElicitationSchema::from_json_schema(schema).map_err(|error| {
            format!("The question cannot be put to a client, whose forms have plain fields only: {error}")
        })?;
        Ok(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema,
        })
    }

    /// Hands the answer to the call. `Err`: it does not fit, in words for the user.
    pub(super) fn settle(&self, chat: &mut Chat, answer: ElicitResult) -> Result<(), String> {
        let accepted = answer.action == ElicitationAction::Accept;
        let content = answer.content.unwrap_or(Value::Null);
        let settled = match self {
            Form::Approval(call) if accepted && content["allow"] == true => chat.approve(call),
            Form::Approval(call) => match content["reason"].as_str() {
                Some(reason) if !reason.is_empty() => chat.deny_with_reason(call, reason),
                _ => chat.deny(call),
            },
            Form::Input(question) if accepted => {
                let content = match question.url {
                    Some(_) => json!({}),
                    None => content,
                };
                chat.answer(question, content)
            }
            Form::Input(question) => chat.decline(question),
        };
        settled.map_err(|error| error.to_string())
    }
}

/// The question inside of another result.
pub(super) fn input_request(params: ElicitRequestParams) -> InputRequest {
    InputRequest::Elicitation(rmcp::model::ElicitRequest::new(params))
}
