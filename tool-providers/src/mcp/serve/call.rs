//! One call of a client.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock,
    CreateTaskResult, ElicitRequest, ElicitRequestParams, ElicitResult, ErrorData,
    InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tool_core::{Chat, Message, Task, ToolCall, ToolResult};

use super::form::{Form, input_request};
use super::progress::{Relay, Reports};
use super::voice::{Nobody, conversation};
use super::{McpService, declare};

/// Under which name a question stands among those that a client is asked at once.
const QUESTION: &str = "question";

/// How long a task is left alone that does not say.
const POLL: Duration = Duration::from_secs(1);

/// How long a client may look at a task that has ended.
const KEPT: u64 = 60 * 60 * 1_000;

/// A call, in a chat of its own.
pub(super) struct Serving {
    chat: Chat,
    reports: Reports,
    tool: String,
    since: Instant,
}

/// Runs a call, or carries on one whose user was asked.
pub(super) async fn run(
    service: &McpService,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let serving = match &request.request_state {
        None => Serving::new(service, &request, &context),
        Some(state) => {
            let known = service.unpark(state);
            known
                .filter(|serving| serving.tool == request.name)
                .ok_or_else(|| {
                    let text = "this call does not wait for an answer; make it anew";
                    ErrorData::invalid_params(text, None)
                })?
        }
    };
    let mut reports = serving.reports.listen();
    let mut relay = Relay::new(context.meta.get_progress_token(), context.peer.clone());
    let mut work = pin!(serving.work(service, request.input_responses, &context));
    let response = loop {
        tokio::select! {
            biased;
            Some(report) = reports.recv() => relay.send(report).await,
            response = &mut work => break response,
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        }
    };
    while let Ok(report) = reports.try_recv() {
        relay.send(report).await;
    }
    response
}

impl Serving {
    fn new(
        service: &McpService,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let call = ToolCall::new(context.id.to_string(), request.name.to_string(), arguments);
        let reports = Reports::default();
        let sink = reports.clone();
        let chat = Chat::new(Nobody)
            .with_tools(service.0.tools.clone())
            .after_tool_progress(move |progress| sink.report(progress));
        let prepare = service.0.prepare.iter();
        let chat = prepare.fold(chat, |chat, prepare| prepare(chat));
        Serving {
            chat: chat.with_messages(conversation(call)),
            reports,
            tool: request.name.to_string(),
            since: Instant::now(),
        }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    async fn work(
        mut self,
        service: &McpService,
        responses: Option<InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_stateless = context
            .protocol_version()
            .is_some_and(|version| !version.has_initialize());
        let mut complaint = responses.and_then(|responses| self.answered(responses));
        loop {
            if complaint.is_none()
                && let Some(result) = self.advance().await
            {
                return Ok(result.into());
            }
            if let Some(form) = Form::of(&self.chat) {
                let params = match question(&form, context, complaint.take()) {
                    Ok(params) => params,
                    Err(refusal) => return Ok(error(refusal).into()),
                };
                if is_stateless {
                    let state = unguessable();
                    let asked = [(QUESTION.to_owned(), input_request(params))];
                    let required =
                        InputRequiredResult::new(Some(asked.into()), Some(state.clone()));
                    service.park(state, self);
                    return Ok(required.into());
                }
                let answer = ask(context, params).await?;
                complaint = form.settle(&mut self.chat, answer).err();
                continue;
            }
            let task = self.task();
            let knows_tasks = context
                .client_capabilities()
                .is_some_and(|client| client.supports_tasks());
            if is_stateless && knows_tasks {
                let mut options = TaskOptions::new().with_ttl_ms(KEPT);
                let interval = task.poll_interval.unwrap_or(POLL);
                options = options
                    .with_poll_interval_ms(u64::try_from(interval.as_millis()).unwrap_or(KEPT));
                options.status_message = task.message;
                let context = context.clone();
                let tasks = &service.0.tasks;
                let started = tasks.spawn(options, |of| Box::pin(self.carry_on(of, context)));
                return Ok(CreateTaskResult::new(started).into());
            }
            sleep(task.poll_interval.unwrap_or(POLL)).await;
        }
    }

    /// Carries on a call that is a task.
    async fn carry_on(
        mut self,
        of: TaskContext,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, TaskExit> {
        let mut questions = 0;
        loop {
            let task = self.task();
            if let Some(message) = task.message {
                of.set_status_message(message);
            }
            tokio::select! {
                () = of.cancelled() => return Err(TaskExit::Cancelled),
                () = sleep(task.poll_interval.unwrap_or(POLL)) => {}
            }
            let advanced = tokio::select! {
                () = of.cancelled() => return Err(TaskExit::Cancelled),
                advanced = self.advance() => advanced,
            };
            if let Some(result) = advanced {
                return Ok(result);
            }
            let mut complaint = None;
            while let Some(form) = Form::of(&self.chat) {
                let params = match question(&form, &context, complaint.take()) {
                    Ok(params) => params,
                    Err(refusal) => return Ok(error(refusal)),
                };
                questions += 1;
                let key = format!("{QUESTION}-{questions}");
                let answer = of.request_input(key, input_request(params)).await?;
                complaint = form.settle(&mut self.chat, read(answer)).err();
                if complaint.is_none() {
                    break;
                }
            }
        }
    }

    /// Runs what can run. The result, once there is one.
    async fn advance(&mut self) -> Option<CallToolResult> {
        let ran = self.chat.run_tools().await;
        match (self.result(), ran) {
            (Some(result), _) => Some(declare::result(result)),
            (None, Err(failed)) => Some(error(failed.to_string())),
            (None, Ok(_)) => None,
        }
    }

    fn result(&self) -> Option<&ToolResult> {
        match self.chat.messages().last() {
            Some(Message::Tool(result)) => Some(result),
            _ => None,
        }
    }

    fn task(&self) -> Task {
        let tasks = self.chat.pending_tasks().into_iter().next();
        tasks.map(|(_, task)| task).unwrap_or_default()
    }

    /// Hands over the client's answer. What is wrong with it, if something is.
    fn answered(&mut self, mut responses: InputResponses) -> Option<String> {
        let form = Form::of(&self.chat)?;
        let answer = read(responses.remove(QUESTION)?);
        form.settle(&mut self.chat, answer).err()
    }
}

/// What the client is asked; or why it cannot be.
fn question(
    form: &Form,
    context: &RequestContext<RoleServer>,
    complaint: Option<String>,
) -> Result<ElicitRequestParams, String> {
    let client = context.client_capabilities();
    let elicitation = client.and_then(|client| client.elicitation);
    let can_ask = elicitation.is_some_and(|modes| match form.is_url() {
        true => modes.url.is_some(),
        false => modes.form.is_some() || modes.url.is_none(),
    });
    if !can_ask {
        return Err(form.refusal());
    }
    let mut params = form.request()?;
    if let (
        Some(complaint),
        ElicitRequestParams::FormElicitationParams { message, .. }
        | ElicitRequestParams::UrlElicitationParams { message, .. },
    ) = (complaint, &mut params)
    {
        *message = format!("{complaint}\n\n{message}");
    }
    Ok(params)
}

/// Asks a client of the older generation.
async fn ask(
    context: &RequestContext<RoleServer>,
    params: ElicitRequestParams,
) -> Result<ElicitResult, ErrorData> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
    let asked = context.peer.send_request(request).await;
    match asked {
        Ok(ClientResult::ElicitResult(answer)) => Ok(answer),
        Ok(_) => {
            let text = "the client answered a question with something else";
            Err(ErrorData::internal_error(text, None))
        }
        Err(error) => Err(ErrorData::internal_error(
            format!("the client could not be asked: {error}"),
            None,
        )),
    }
}

/// An answer; one that cannot be read is none.
fn read(answer: Value) -> ElicitResult {
    let cancelled = ElicitResult::new(rmcp::model::ElicitationAction::Cancel);
    serde_json::from_value(answer).unwrap_or(cancelled)
}

fn error(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// What nobody else can name: the standard library seeds its hashers at random.
fn unguessable() -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let half = || RandomState::new().hash_one(now);
    format!("{:016x}{:016x}", half(), half())
}
