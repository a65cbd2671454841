//! A conversation with a model that can call tools.

mod build;
mod options;
mod turn;

use std::fmt;
use std::sync::Arc;

pub use options::{Concurrency, ToolOptions};
pub use turn::{Pause, Stop, Turn};

use crate::model::Request;
use crate::run::driver::{self, Driver, Pass};
use crate::run::{
    CallState, CancelHandle, Cancellation, Event, Events, Hub, Next, Overflow, Policy, Round, next,
};
use crate::{
    AssistantMessage, ChatError, ChatErrorKind, Decision, Message, Model, RequestOptions, Task,
    ToolCall, ToolChoice, ToolSet, Transcript, Usage, UserMessage,
};

/// A conversation with a model that can call tools.
///
/// [`ask`](Chat::ask) runs the whole loop: the model answers, the calls in its answer run, their
/// results go back, until it answers without calls or the chat has to wait. After every error,
/// cancellation or dropped future the transcript is valid and the chat can go on.
///
/// ```
/// use serde_json::json;
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Chat, tool, tools};
///
/// /// Adds two numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = ScriptedModel::new().call("add", json!({ "a": 2, "b": 3 })).text("It is 5.");
/// let mut chat = Chat::new(model).with_tools(tools![Add]);
/// let turn = chat.ask("What is 2 + 3?").await?;
/// assert_eq!(turn.to_string(), "It is 5.");
/// # Ok::<_, tool_core::ChatError>(()) }).unwrap();
/// ```
pub struct Chat {
    model: Arc<dyn Model>,
    tools: ToolSet,
    tool_options: ToolOptions,
    instructions: Option<String>,
    request_options: RequestOptions,
    streaming: bool,
    max_rounds: Option<usize>,
    transcript: Transcript,
    round: Round,
    hub: Arc<Hub>,
    cancellation: Cancellation,
    id: String,
    usage: Usage,
    overflow: Overflow,
    /// A mistake in the set-up, reported when the chat is first used.
    fault: Option<String>,
}

impl Chat {
    /// Asks the user's question and runs the loop until the model has answered or the chat has to
    /// wait.
    ///
    /// # Errors
    ///
    /// [`PendingToolCalls`](ChatErrorKind::PendingToolCalls) while calls wait for a decision or a
    /// task; else as [`complete`](Chat::complete).
    pub async fn ask(&mut self, message: impl Into<UserMessage>) -> Result<Turn, ChatError> {
        self.ask_later(message)?;
        self.complete().await
    }

    /// Adds the user's question without asking the model yet.
    ///
    /// Calls that were interrupted, because the future that ran them was dropped, are recorded as
    /// cancelled first.
    ///
    /// # Errors
    ///
    /// [`PendingToolCalls`](ChatErrorKind::PendingToolCalls) while calls wait for a decision or a task.
    pub fn ask_later(&mut self, message: impl Into<UserMessage>) -> Result<(), ChatError> {
        let waiting =
            self.round.calls.iter().filter(|call| {
                call.awaits_approval() || matches!(call.state, CallState::Paused(_))
            });
        let names: Vec<String> = waiting
            .map(|call| format!("`{}` ({})", call.call.name, call.call.id))
            .collect();
        if !names.is_empty() {
            let text = format!(
                "calls of the last answer are pending: {}; approve or deny them and call `complete` before asking more",
                names.join(", ")
            );
            return Err(ChatError::new(ChatErrorKind::PendingToolCalls, text));
        }
        self.driver().abandon("The run was interrupted");
        let message = Message::User(message.into());
        self.hub.message(&message);
        self.transcript.push(message);
        Ok(())
    }

    /// Runs the loop until the model has answered or the chat has to wait. Every task that a call
    /// paused on is resumed once.
    ///
    /// # Errors
    ///
    /// The model's error, a tool's fatal one, or a mistake in the set-up. Called again, it goes on
    /// where it stopped.
    pub async fn complete(&mut self) -> Result<Turn, ChatError> {
        let mut resume = true;
        loop {
            if let Some(turn) = self.advance(resume).await? {
                return Ok(turn);
            }
            resume = false;
        }
    }

    /// One step of the loop: one request to the model, or one pass over the calls that are ready.
    /// `None`: there is more to do.
    ///
    /// # Errors
    ///
    /// As [`complete`](Chat::complete).
    pub async fn step(&mut self) -> Result<Option<Turn>, ChatError> {
        self.advance(true).await
    }

    /// Asks the model once and adds its answer. Its calls do not run yet. `None`: cancelled.
    ///
    /// # Errors
    ///
    /// The model's error, or [`PendingToolCalls`](ChatErrorKind::PendingToolCalls) while calls of
    /// the last answer lack results.
    pub async fn generate(&mut self) -> Result<Option<AssistantMessage>, ChatError> {
        if !self.round.is_empty() {
            let text = "calls of the last answer have no result yet; call `run_tools` first";
            return Err(ChatError::new(ChatErrorKind::PendingToolCalls, text));
        }
        self.check()?;
        let request = Request::new(
            &self.transcript,
            &self.tools,
            &self.tool_options.choice,
            &self.request_options,
        )
        .with_instructions(self.instructions.as_deref())
        .with_calls(self.tool_options.calls)
        .with_stream(self.streaming);
        let Some(answer) =
            driver::generate(&*self.model, request, &self.hub, &self.cancellation).await
        else {
            return Ok(None);
        };
        let answer = answer?;
        self.usage += answer.usage;
        self.driver().answered(answer.clone());
        Ok(Some(answer))
    }

    /// Runs the calls of the last answer that are ready.
    ///
    /// # Errors
    ///
    /// A tool's fatal error. What finished before it keeps its results.
    pub async fn run_tools(&mut self) -> Result<(), ChatError> {
        self.pass(true).await.map(|_| ())
    }

    async fn advance(&mut self, resume: bool) -> Result<Option<Turn>, ChatError> {
        self.check()?;
        if self.cancellation.take() {
            return Ok(Some(self.cancelled()));
        }
        let policy = Policy {
            max_rounds: self.max_rounds,
        };
        match next(self.transcript.messages(), &self.round, policy, resume) {
            Next::Generate => match self.generate().await? {
                Some(_) => Ok(None),
                None => Ok(Some(self.cancelled())),
            },
            Next::RunTools => match self.pass(resume).await? {
                Pass::Cancelled => Ok(Some(self.cancelled())),
                Pass::Done => Ok(None),
            },
            // A resolver may have decided since.
            Next::Pause if resume => match self.pass(true).await? {
                Pass::Cancelled => Ok(Some(self.cancelled())),
                Pass::Done => Ok(self.pause()),
            },
            Next::Pause => Ok(self.pause()),
            Next::TooManyRounds => Ok(Some(Turn::Stopped(Stop::MaxRounds))),
            Next::CutOff => Ok(Some(Turn::Stopped(Stop::CutOff))),
            Next::Complete => {
                self.hub.say(|| Event::End);
                Ok(Some(Turn::Answer(
                    self.last_answer().cloned().unwrap_or_default(),
                )))
            }
        }
    }

    async fn pass(&mut self, resume: bool) -> Result<Pass, ChatError> {
        let before = self.transcript.messages().len();
        let pass = self.driver().run_tools(resume).await;
        let ran = self.transcript.messages().len() > before;
        if ran && self.tool_options.choice.is_forced() && !self.tool_options.keep_choice {
            self.tool_options.choice = ToolChoice::Auto;
        }
        pass
    }

    fn pause(&mut self) -> Option<Turn> {
        let pause = Pause {
            approvals: self.pending_approvals(),
            tasks: self.pending_tasks(),
        };
        if pause.approvals.is_empty() && pause.tasks.is_empty() {
            return None;
        }
        self.hub.say(|| Event::Paused);
        Some(Turn::Paused(pause))
    }

    fn cancelled(&mut self) -> Turn {
        self.cancellation.take();
        self.driver().abandon("The run was cancelled");
        self.hub.say(|| Event::Cancelled);
        Turn::Cancelled
    }

    fn driver(&mut self) -> Driver<'_> {
        Driver {
            transcript: &mut self.transcript,
            round: &mut self.round,
            tools: &self.tools,
            hub: &self.hub,
            cancellation: &self.cancellation,
            chat: &self.id,
            calls: self.tool_options.calls,
            concurrency: self.tool_options.concurrency.limit(),
            overflow: &self.overflow,
        }
    }

    fn check(&self) -> Result<(), ChatError> {
        let fault = match (&self.fault, &self.tool_options.choice) {
            (Some(fault), _) => fault.clone(),
            (None, ToolChoice::Required) if self.tools.is_empty() => {
                "a tool is required, but the chat has no tools".into()
            }
            (None, ToolChoice::Tool(name)) if self.tools.get(name).is_none() => {
                let names: Vec<&str> = self.tools.names().collect();
                format!(
                    "the tool `{name}` is to be chosen, but the chat has only: {}",
                    names.join(", ")
                )
            }
            _ => return Ok(()),
        };
        Err(ChatError::new(ChatErrorKind::Configuration, fault))
    }

    /// Whether the model has answered and nothing is left to do.
    pub fn is_complete(&self) -> bool {
        let policy = Policy { max_rounds: None };
        next(self.transcript.messages(), &self.round, policy, true) == Next::Complete
    }

    /// Whether calls wait for a decision.
    pub fn awaiting_approval(&self) -> bool {
        self.round.awaiting_approval().next().is_some()
    }

    /// The calls that wait for a decision, all of the turn.
    pub fn pending_approvals(&self) -> Vec<ToolCall> {
        self.round
            .awaiting_approval()
            .map(|pending| pending.call.clone())
            .collect()
    }

    /// The calls that wait for work that goes on elsewhere.
    pub fn pending_tasks(&self) -> Vec<(ToolCall, Task)> {
        let paused = self
            .round
            .calls
            .iter()
            .filter_map(|pending| match &pending.state {
                CallState::Paused(task) => Some((pending.call.clone(), task.clone())),
                _ => None,
            });
        paused.collect()
    }

    /// Lets a waiting call run; [`complete`](Chat::complete) then runs it. `call` is the call or its id.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision.
    pub fn approve(&mut self, call: impl AsRef<str>) -> Result<(), ChatError> {
        self.decide(call.as_ref(), Decision::Approved)
    }

    /// Refuses a waiting call. It never runs, and the model reads that the user denied it.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision.
    pub fn deny(&mut self, call: impl AsRef<str>) -> Result<(), ChatError> {
        self.decide(call.as_ref(), Decision::Denied { reason: None })
    }

    /// Refuses a waiting call, with a reason that the model reads.
    ///
    /// # Errors
    ///
    /// [`NoSuchCall`](ChatErrorKind::NoSuchCall) if no such call awaits a decision.
    pub fn deny_with_reason(
        &mut self,
        call: impl AsRef<str>,
        reason: impl Into<String>,
    ) -> Result<(), ChatError> {
        self.decide(call.as_ref(), Decision::denied(reason))
    }

    fn decide(&mut self, id: &str, decision: Decision) -> Result<(), ChatError> {
        let waiting = self
            .round
            .calls
            .iter_mut()
            .find(|call| call.call.id == id && call.awaits_approval());
        match waiting {
            Some(call) => {
                call.decision = decision;
                Ok(())
            }
            None => {
                let text = format!("no call `{id}` awaits a decision");
                Err(ChatError::new(ChatErrorKind::NoSuchCall, text))
            }
        }
    }

    /// The messages so far.
    pub fn messages(&self) -> &[Message] {
        self.transcript.messages()
    }

    /// What all answers of this chat cost.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The tools of this chat.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// A handle that cancels this chat from elsewhere.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancellation.handle()
    }

    /// What happens from now on, for another task to follow.
    pub fn events(&self) -> Events {
        self.hub.subscribe()
    }

    fn last_answer(&self) -> Option<&AssistantMessage> {
        match self.transcript.messages().last()? {
            Message::Assistant(answer) => Some(answer),
            _ => None,
        }
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat")
            .field("provider", &self.model.provider())
            .field("model", &self.model.name())
            .field("tools", &self.tools)
            .field("messages", &self.transcript.messages().len())
            .finish_non_exhaustive()
    }
}
