//! A tool of a server, as one of ours.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequestParams, InputRequest, InputResponses,
    ServerResult,
};
use serde_json::{Map, Value};
use tool_core::{
    AfterCrash, Task, Tool, ToolCall, ToolDefinition, ToolError, ToolFuture, ToolOutput,
};

use super::connection::Connection;
use super::rules::RemoteTool;
use super::running::{Next, Running};
use super::session::Session;
use super::{McpError, McpErrorKind, content, elicit, schema, task};

/// How often a server may ask again before it has a result.
const MOST_ROUNDS: usize = 100;

/// A tool of a server.
pub(super) struct McpTool {
    definition: ToolDefinition,
    /// Its name on the server.
    name: String,
    session: Arc<Session>,
}

impl McpTool {
    pub(super) fn new(session: Arc<Session>, tool: &rmcp::model::Tool, name: String) -> Self {
        let remote = RemoteTool::from(tool);
        let (schema, note) = schema::of(&tool.input_schema);
        let said = tool.description.as_deref().map(str::to_owned);
        let said = said.filter(|said| !said.trim().is_empty());
        let mut description = said
            .or_else(|| remote.title.clone())
            .unwrap_or_else(|| format!("The tool `{}` of `{}`.", tool.name, session.label));
        if let Some(note) = note {
            description = format!("{description}\n\n{note}");
        }
        let definition = ToolDefinition::new(name.clone(), description, schema);
        let definition = match remote.idempotent {
            true => definition,
            false => definition.with_after_crash(AfterCrash::Report),
        };
        // Changes can be many things, but not another name: it has to be unique.
        let definition = session
            .server
            .rules
            .apply(&remote, definition)
            .with_name(name);
        McpTool {
            definition,
            name: remote.name,
            session,
        }
    }

    async fn run(
        &self,
        call: &ToolCall,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let mut params = CallToolRequestParams::new(self.name.clone()).with_arguments(arguments);
        let mut running = match self.session.unpark(call.idempotency_key()) {
            Some(running) => {
                running.adopt(call);
                // They are answered already; what follows is what comes after them.
                for question in &running.answered {
                    elicit::ask(call, question).await?;
                }
                running
            }
            None => self.start(params.clone(), call).await?,
        };
        for _ in 0..MOST_ROUNDS {
            let reply = loop {
                if let Some(question) = &running.open {
                    let request = question.request.clone();
                    running = self.settle(call, request, running).await?;
                }
                if let Next::Ended(reply) = running.next().await {
                    break reply;
                }
            };
            match response(reply).map_err(|error| self.failed(&running.connection, error))? {
                CallToolResponse::Complete(result) => return content::output(result),
                CallToolResponse::Task(created) => {
                    return Ok(ToolOutput::task(task::of(&created.task)));
                }
                CallToolResponse::InputRequired(required) => {
                    let requests = required.input_requests.unwrap_or_default();
                    params.input_responses = Some(self.responses(call, requests).await?);
                    params.request_state = required.request_state;
                    running = self.start(params.clone(), call).await?;
                }
                _ => break,
            }
        }
        let text = format!(
            "the MCP server `{}` asks again and again and gives no result",
            self.session.label
        );
        Err(McpError::new(McpErrorKind::Protocol, text).into())
    }

    async fn start(
        &self,
        params: CallToolRequestParams,
        call: &ToolCall,
    ) -> Result<Running, ToolError> {
        let connection = self.session.connection().await?;
        let started = Running::start(connection.clone(), params, call).await;
        started.map_err(|error| self.failed(&connection, error))
    }

    /// Asks the user what the server asks. The call is kept on the server if this is dropped, as it is until
    /// the user has answered.
    async fn settle(
        &self,
        call: &ToolCall,
        request: ElicitRequestParams,
        running: Running,
    ) -> Result<Running, ToolError> {
        let mut parking = Parking {
            session: &self.session,
            key: call.idempotency_key(),
            running: Some(running),
        };
        let answer = elicit::ask(call, &request).await;
        // Nobody else takes it.
        let Some(mut running) = parking.running.take() else {
            return Err(ToolError::new("the call that asked is gone"));
        };
        if let Some(question) = running.open.take() {
            // The server may have withdrawn it; then its result says so.
            let _ = question.reply.send(answer?);
        }
        running.answered.push(request);
        Ok(running)
    }

    /// What the user answers to all that the server asks at once.
    pub(super) async fn responses(
        &self,
        call: &ToolCall,
        requests: rmcp::model::InputRequests,
    ) -> Result<InputResponses, ToolError> {
        let mut responses = InputResponses::new();
        for (name, request) in requests {
            let InputRequest::Elicitation(request) = request else {
                let text = format!(
                    "the MCP server `{}` asks for what this application does not give",
                    self.session.label
                );
                return Err(McpError::new(McpErrorKind::Protocol, text).into());
            };
            let params: ElicitRequestParams = request.params;
            let answer = elicit::ask(call, &params).await?;
            let answer = serde_json::to_value(answer).unwrap_or_default();
            responses.insert(name, answer);
        }
        Ok(responses)
    }

    fn failed(&self, connection: &Connection, error: rmcp::ServiceError) -> ToolError {
        let error = connection.failed(&self.session.label, error);
        match error.kind() {
            McpErrorKind::Closed => ToolError::new(format!(
                "{error} while this call ran. It may have taken effect."
            ))
            .with_source(error),
            _ => error.into(),
        }
    }
}

/// Keeps a call on the server if the run that asks is dropped.
struct Parking<'a> {
    session: &'a Session,
    key: &'a str,
    running: Option<Running>,
}

impl Drop for Parking<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.session.park(self.key.to_owned(), running);
        }
    }
}

fn response(
    reply: Result<ServerResult, rmcp::ServiceError>,
) -> Result<CallToolResponse, rmcp::ServiceError> {
    match reply? {
        ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(required) => {
            Ok(CallToolResponse::InputRequired(required))
        }
        ServerResult::CreateTaskResult(created) => Ok(CallToolResponse::Task(created)),
        ServerResult::EmptyResult(_) => Ok(CallToolResponse::Complete(Default::default())),
        _ => Err(rmcp::ServiceError::UnexpectedResponse),
    }
}

impl Tool for McpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = self.definition.check(call)?;
            self.run(call, arguments).await
        })
    }

    fn resume<'a>(&'a self, task: Task, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(task::resume(self, &self.session, task, call))
    }
}
