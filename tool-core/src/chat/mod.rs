//! A conversation with a model that can call tools.

mod build;
mod check;
mod config;
mod decide;
mod options;
mod sources;
mod stored;
mod turn;

use std::fmt;
use std::sync::Arc;

pub(crate) use build::random_id;
pub use config::Config;
pub use decide::{CallRef, PendingApproval};
pub use options::{Concurrency, ToolOptions};
pub use turn::{Pause, Turn};

use crate::files::FileStore;
use crate::model::Request;
use crate::run::driver::{self, Driver, Pass};
use crate::run::{
    CancelHandle, Cancellation, Event, Events, Hub, Journal, Next, Outbox, Round, next,
};
use crate::tool::Sources;
use crate::{
    AssistantMessage, ChatError, ChatErrorKind, Limits, Message, Model, Tool, ToolChoice, ToolSet,
    Transcript, Usage, UserMessage,
};

/// A conversation with a model that can call tools.
///
/// [`ask`](Chat::ask) runs the whole loop: the model answers, the calls in its answer run, their
/// results go back, until it answers without calls or the chat has to wait. After every error,
/// cancellation or dropped future the transcript is valid and the chat can go on.
///
/// A chat runs within a Tokio runtime. One whose tools are all `async`, without deadlines, and run one
/// by one, runs anywhere, if its model does.
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
    /// What the tools are made of.
    sources: Sources,
    /// How long the transcript was when the sources were last asked.
    listed_at: usize,
    tool_options: ToolOptions,
    instructions: Option<String>,
    config: Config,
    transcript: Transcript,
    round: Round,
    hub: Arc<Hub>,
    cancellation: Cancellation,
    /// What ended in a run that was not there to see it.
    outbox: Outbox,
    /// Whether tasks were asked for since the caller last had a turn.
    resumed: bool,
    id: String,
    usage: Usage,
    files: Option<Arc<dyn FileStore>>,
    /// A mistake in the set-up, reported when the chat is first used.
    fault: Option<String>,
    /// Where what happens is recorded, while the chat is run from a store.
    journal: Option<Journal>,
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
        self.list_tools().await?;
        self.check()?;
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
        let waiting = self.round.calls.iter();
        let waiting = waiting.filter(|call| call.waits() || call.is_settled());
        let names: Vec<String> = waiting
            .map(|call| format!("`{}` ({})", call.call.name, call.call.id))
            .collect();
        if !names.is_empty() {
            let text = format!(
                "calls of the last answer are pending: {}; decide or answer them and call `complete` before asking more",
                names.join(", ")
            );
            return Err(ChatError::new(ChatErrorKind::PendingToolCalls, text));
        }
        self.driver().abandon("The run was interrupted");
        self.transcript.push(Message::User(message.into()));
        if let Some(message) = self.transcript.messages().last() {
            self.hub.message(message);
        }
        Ok(())
    }

    /// Runs the loop until the model has answered or the chat has to wait. Every task that a call
    /// paused on is resumed once.
    ///
    /// # Errors
    ///
    /// The model's error, a tool's fatal one, or a mistake in the set-up. Called again, it goes on
    /// where it stopped: a call whose run was interrupted, because the future that ran it was
    /// dropped, then does what its tool declares as `after_crash`; by default it runs again, with the
    /// same [`idempotency_key`](crate::ToolCall::idempotency_key).
    pub async fn complete(&mut self) -> Result<Turn, ChatError> {
        self.resumed = false;
        loop {
            if let Some(turn) = self.step().await? {
                return Ok(turn);
            }
        }
    }

    /// One step of the loop: one request to the model, or one pass over the calls that are ready.
    /// `None`: there is more to do.
    ///
    /// # Errors
    ///
    /// As [`complete`](Chat::complete).
    pub async fn step(&mut self) -> Result<Option<Turn>, ChatError> {
        match self.advance().await {
            Ok(None) => Ok(None),
            Ok(Some(turn)) => {
                self.resumed = false;
                if let Turn::Stopped(stop) = &turn {
                    self.hub.say(|| Event::Stopped(*stop));
                }
                Ok(Some(turn))
            }
            Err(error) => {
                self.hub.say(|| Event::Failed(error.to_string()));
                Err(error)
            }
        }
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
        if self.begins_turn() {
            let Some(listed) = self.ask_sources().await else {
                self.cancellation.take();
                return Ok(None);
            };
            listed?;
        }
        self.check()?;
        let only = self.tool_options.only.as_deref();
        let (tools, allowed) = match self.model.searches_tools() {
            true => (self.tools.clone(), only.map(<[String]>::to_vec)),
            false => {
                let allowed = only.map(|only| self.tools.visible_among(only));
                (self.tools.visible(), allowed)
            }
        };
        let request = Request::new(
            &self.transcript,
            &tools,
            &self.tool_options.choice,
            &self.config.request_options,
        )
        .with_instructions(self.instructions.as_deref())
        .with_allowed(allowed.as_deref())
        .with_calls(self.tool_options.calls)
        .with_stream(self.config.streaming);
        let Some(answer) = driver::generate(
            &*self.model,
            request,
            &self.hub,
            &self.cancellation,
            &self.id,
        )
        .await
        else {
            self.cancellation.take();
            return Ok(None);
        };
        let answer = answer?;
        self.usage += answer.usage;
        let at = self.transcript.messages().len();
        self.driver().answered(answer);
        self.driver().record_all().await?;
        // With the ids and keys by which the chat knows its calls.
        match self.transcript.messages().get(at) {
            Some(Message::Assistant(answer)) => Ok(Some(answer.clone())),
            _ => Ok(None),
        }
    }

    /// Runs the calls of the last answer that are ready, and asks once for every task that a call
    /// paused on. `None`: that is done, whether or not some
    /// still wait; else [`Turn::Cancelled`].
    ///
    /// # Errors
    ///
    /// A tool's fatal error. What finished before it keeps its results.
    pub async fn run_tools(&mut self) -> Result<Option<Turn>, ChatError> {
        self.resumed = false;
        let turn = self.run_pass().await;
        self.resumed = false;
        turn
    }

    async fn run_pass(&mut self) -> Result<Option<Turn>, ChatError> {
        match self.pass().await? {
            Pass::Done => Ok(None),
            Pass::Cancelled => Ok(Some(self.cancelled())),
        }
    }

    async fn advance(&mut self) -> Result<Option<Turn>, ChatError> {
        self.check()?;
        if self.cancellation.take() {
            return Ok(Some(self.cancelled()));
        }
        let resume = !self.resumed;
        match next(
            self.transcript.messages(),
            &self.round,
            &self.config.limits,
            resume,
        ) {
            Next::Generate => match self.generate().await? {
                Some(_) => Ok(None),
                None => Ok(Some(self.cancelled())),
            },
            Next::RunTools => self.run_pass().await,
            // A resolver may have decided since the last pause.
            Next::Pause if resume => match self.run_pass().await? {
                Some(turn) => Ok(Some(turn)),
                None => Ok(self.pause()),
            },
            Next::Pause => Ok(self.pause()),
            Next::Stop(stop) => Ok(Some(Turn::Stopped(stop))),
            Next::Complete => {
                self.hub.say(|| Event::End);
                Ok(Some(Turn::Answer(
                    self.last_answer().cloned().unwrap_or_default(),
                )))
            }
        }
    }

    async fn pass(&mut self) -> Result<Pass, ChatError> {
        self.list_tools().await?;
        self.check_runtime()?;
        let resume = !std::mem::replace(&mut self.resumed, true);
        let mut driver = self.driver();
        let pass = driver.run_tools(resume).await;
        let served = driver.served_any;
        if served && self.tool_options.choice.is_forced() && !self.tool_options.keep_choice {
            self.tool_options.choice = ToolChoice::Auto;
        }
        pass
    }

    fn pause(&mut self) -> Option<Turn> {
        let pause = Pause {
            approvals: self.pending_approvals(),
            inputs: self.pending_inputs(),
            tasks: self.pending_tasks(),
        };
        if pause == Pause::default() {
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
        let concurrency = self.concurrency();
        Driver {
            transcript: &mut self.transcript,
            round: &mut self.round,
            tools: &self.tools,
            hub: &self.hub,
            cancellation: &self.cancellation,
            outbox: &self.outbox,
            served_any: false,
            chat: &self.id,
            calls: self.tool_options.calls,
            allowed: self.tool_options.only.as_deref(),
            concurrency,
            max_attempts: self.config.max_attempts,
            max_run_time: self.config.max_run_time,
            trace_contents: self.config.trace_contents,
            limits: self.config.limits,
            files: self.files.as_ref(),
            spill_to_file: self.config.spill_to_file,
            journal: self.journal.as_mut(),
        }
    }

    /// How many calls run at once.
    fn concurrency(&self) -> usize {
        let own = self.tool_options.concurrency;
        own.unwrap_or(self.config.concurrency).limit()
    }

    /// Whether the model has answered and nothing is left to do.
    pub fn is_complete(&self) -> bool {
        next(
            self.transcript.messages(),
            &self.round,
            &Limits::new(),
            true,
        ) == Next::Complete
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

    /// The tools that wait to be searched for.
    pub fn deferred_tools(&self) -> Vec<&str> {
        self.tools.deferred().map(|tool| tool.name()).collect()
    }

    /// A handle that cancels this chat from elsewhere.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancellation.handle()
    }

    /// What happens from now on, for another task to follow.
    pub fn events(&self) -> Events {
        self.hub.subscribe()
    }

    /// The answer of the model with which the messages end; `None` if they do not end with one.
    pub fn last_answer(&self) -> Option<&AssistantMessage> {
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
