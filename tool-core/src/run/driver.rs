//! The IO of the loop: asks the model and runs the tools that [`step`](super::step) says are next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::admit::{admission, checked, consult, needs_approval, unknown};
use super::execute::{Order, Ran};
use super::limits::calls_made;
use super::restore::identify;
use super::spill::{SpillOver, given_up};
use super::trace::{self, ChatSpan};
use super::{
    CallState, Cancellation, Hub, Journal, Limits, Outbox, PendingCall, Question, Round, RunContext,
};
use crate::files::FileStore;
use crate::model::{Delta, Request};
use crate::{
    AssistantMessage, Calls, ChatError, ChatErrorKind, Decision, Message, Model, ModelError,
    Outcome, Spill, Task, ToolResult, ToolSet, Transcript,
};

/// How a pass over the calls of an answer ended.
pub(crate) enum Pass {
    /// Nothing more can run now.
    Done,
    /// It was cancelled.
    Cancelled,
}

/// What the driver works on.
pub(crate) struct Driver<'a> {
    pub(crate) transcript: &'a mut Transcript,
    pub(crate) round: &'a mut Round,
    pub(crate) tools: &'a ToolSet,
    pub(crate) hub: &'a Arc<Hub>,
    pub(crate) cancellation: &'a Cancellation,
    pub(crate) outbox: &'a Outbox,
    /// Whether in this pass a tool ran, or a person decided that it does not or that the provider runs it:
    /// what was to be called was called.
    pub(crate) served_any: bool,
    /// What the keys of this chat's calls begin with.
    pub(crate) chat: &'a str,
    pub(crate) calls: Calls,
    /// The only tools that may be called.
    pub(crate) allowed: Option<&'a [String]>,
    /// How many calls run at once.
    pub(crate) concurrency: usize,
    /// How many calls may be made.
    pub(crate) limits: Limits,
    /// How often a call is begun whose runs are interrupted.
    pub(crate) max_attempts: u32,
    /// How long a call may run whose tool does not say.
    pub(crate) max_run_time: Option<Duration>,
    /// Where results are kept that are too long.
    pub(crate) files: Option<&'a Arc<dyn FileStore>>,
    /// Which results those are, where the tool does not say.
    pub(crate) spill_to_file: Spill,
    /// Whether spans carry arguments and results.
    pub(crate) trace_contents: bool,
    /// Where what happens is recorded before it is acted on.
    pub(crate) journal: Option<&'a mut Journal>,
}

/// Asks the model. `None`: cancelled, and nothing was added.
pub(crate) async fn generate(
    model: &dyn Model,
    request: Request<'_>,
    hub: &Hub,
    cancellation: &Cancellation,
    chat: &str,
) -> Option<Result<AssistantMessage, ModelError>> {
    hub.before_message();
    let mut sink = |delta: &Delta<'_>| match delta {
        Delta::Text(text) if !text.is_empty() => hub.say(|| super::Event::Text((*text).into())),
        Delta::Thinking(text) if !text.is_empty() => {
            hub.say(|| super::Event::Thinking((*text).into()))
        }
        _ => {}
    };
    let span = ChatSpan {
        provider: model.provider(),
        model: model.name(),
        chat,
    };
    trace::chat(span, cancellation.guard(model.generate(request, &mut sink))).await
}

impl Driver<'_> {
    /// Adds an answer, and opens the round of its calls.
    pub(crate) fn answered(&mut self, mut answer: AssistantMessage) {
        let message = self.transcript.messages().len();
        identify(&mut answer, self.chat, message);
        *self.round = Round::of(&answer);
        let cut_off = answer.is_cut_off();
        self.transcript.push(Message::Assistant(answer));
        if let Some(message) = self.transcript.messages().last() {
            self.hub.message(message);
        }
        if cut_off {
            self.end(super::restore::cut_off);
        }
        self.close();
    }

    /// Sees to all calls that are ready. `resume`: also to those that paused on a task.
    pub(crate) async fn run_tools(&mut self, resume: bool) -> Result<Pass, ChatError> {
        let pass = self.pass(resume).await;
        if let (Ok(Pass::Cancelled), Some(journal)) = (&pass, &self.journal) {
            journal.check()?;
        }
        match &pass {
            // What is recorded is the truth, which is loaded anew: nothing is made up here.
            Err(error) if error.kind() == ChatErrorKind::Store => return pass,
            Ok(Pass::Done) => {}
            Ok(Pass::Cancelled) => self.end(|call| unfinished(call, "The run was cancelled")),
            Err(_) => self.end(|call| unfinished(call, "Another tool failed and stopped the run")),
        }
        self.close();
        self.record_all().await?;
        pass
    }

    /// Records what is new, if the chat is stored.
    pub(crate) async fn record_all(&mut self) -> Result<(), ChatError> {
        if let Some(journal) = &mut self.journal {
            journal.save(self.transcript.messages(), self.round).await?;
        }
        Ok(())
    }

    /// What needs no decision runs first: reading decisions may take its time.
    async fn pass(&mut self, resume: bool) -> Result<Pass, ChatError> {
        let Some(()) = self.cancellation.guard(self.outbox.quiet()).await else {
            return Ok(Pass::Cancelled);
        };
        self.collect()?;
        self.admit();
        self.refuse_denied();
        let ready = self.ready(resume);
        if let Pass::Cancelled = self.run(ready).await? {
            return Ok(Pass::Cancelled);
        }
        if self.round.awaiting_approval().next().is_none() {
            return Ok(Pass::Done);
        }
        let consulted = self
            .cancellation
            .guard(consult(self.round, self.tools, self.hub))
            .await;
        if consulted.is_none() {
            return Ok(Pass::Cancelled);
        }
        self.refuse_denied();
        let ready = self.ready(false);
        self.run(ready).await
    }

    async fn run(&mut self, ready: VecDeque<(usize, Option<Task>)>) -> Result<Pass, ChatError> {
        match self.concurrency {
            0 | 1 => self.one_by_one(ready).await,
            limit => self.together(ready, limit).await,
        }
    }

    /// Ends every call that is not over, and adds the results.
    pub(crate) fn abandon(&mut self, why: &str) {
        let _fatal_but_over = self.collect();
        self.end(|call| unfinished(call, why));
        self.close();
    }

    /// The one place where results enter the transcript: all of a round's, in call order. They are told
    /// of when all are there, since a callback may panic.
    fn close(&mut self) {
        let before = self.transcript.messages().len();
        for result in self.round.take_results().into_iter().flatten() {
            self.transcript.push(Message::Tool(result));
        }
        for message in &self.transcript.messages()[before..] {
            self.hub.message(message);
        }
    }

    fn end(&mut self, result: impl Fn(&PendingCall) -> ToolResult) {
        let outbox = self.outbox.clone();
        let result = |call: &PendingCall| {
            let unkept = outbox.take_unkept(call.call.idempotency_key());
            unkept.map_or_else(|| result(call), given_up)
        };
        for result in self.round.end(result) {
            self.hub.result(&result);
        }
    }

    pub(super) fn record(&mut self, index: usize, result: ToolResult) {
        let state = &mut self.round.calls[index].state;
        *state = CallState::Done(result);
        if let CallState::Done(result) = state {
            self.hub.result(result);
        }
    }

    /// Refuses what cannot run, and finds out which calls wait for a decision. A person is asked only
    /// about calls whose arguments are valid.
    fn admit(&mut self) {
        for index in 0..self.round.calls.len() {
            let pending = &self.round.calls[index];
            if pending.state == CallState::Started {
                self.recover(index);
                continue;
            }
            if pending.state != CallState::Proposed || pending.needs_approval.is_some() {
                continue;
            }
            // From here on it is the call of the tool that is meant; the transcript keeps the model's.
            if let Some(meant) = self.tools.meant(&pending.call) {
                self.round.calls[index].call = meant;
            }
            let pending = &self.round.calls[index];
            if let Some(limit) = self.limits.tool_calls
                && calls_made(self.transcript.messages()) + index >= limit
            {
                let text = "The limit of tool calls was reached before this call started.";
                let result = ToolResult::new(&pending.call, Outcome::NotStarted, text);
                self.record(index, result);
                continue;
            }
            match admission(index, &pending.call, self) {
                Ok(needs_approval) => self.round.calls[index].needs_approval = Some(needs_approval),
                Err(result) => self.record(index, result),
            }
        }
    }

    fn refuse_denied(&mut self) {
        for index in 0..self.round.calls.len() {
            let pending = &self.round.calls[index];
            if let (CallState::Proposed, Decision::Denied { reason }) =
                (&pending.state, &pending.decision)
            {
                let denied = match pending.possibly_done {
                    true => {
                        "The user did not let this call run again. An earlier run of it was interrupted, and may have taken effect."
                    }
                    false => "The user denied this call. It did not run.",
                };
                let mut text = serde_json::json!({ "error": denied });
                if let Some(reason) = reason {
                    text["reason"] = reason.as_str().into();
                }
                let result = ToolResult::new(&pending.call, Outcome::Denied, text.to_string());
                self.served_any = true;
                self.record(index, result);
            }
        }
    }

    fn ready(&self, resume: bool) -> VecDeque<(usize, Option<Task>)> {
        let calls = self.round.calls.iter().enumerate();
        calls
            .filter_map(|(index, pending)| match &pending.state {
                CallState::Proposed if !pending.awaits_approval() => Some((index, None)),
                CallState::Started | CallState::Answered => Some((index, pending.task.clone())),
                CallState::Paused(task) if resume => Some((index, Some(task.clone()))),
                _ => None,
            })
            .collect()
    }

    /// The run of one call. The arguments of an approved call are checked again when it runs.
    fn start(
        &mut self,
        index: usize,
        task: Option<Task>,
    ) -> Option<impl Future<Output = Ran> + Send + use<>> {
        let pending = &mut self.round.calls[index];
        if let Some(server) = &pending.call.server {
            let text = format!("Approved; the provider runs it on `{server}`.");
            let result = ToolResult::new(&pending.call, Outcome::Approved, text);
            self.served_any = true;
            self.record(index, result);
            return None;
        }
        let Some(tool) = self.tools.find_among(&pending.call.name, self.allowed) else {
            let result = unknown(&pending.call, self.tools);
            self.record(index, result);
            return None;
        };
        if pending.state == CallState::Proposed && pending.call.server.is_none() {
            if pending.needs_approval == Some(true) && !pending.is_as_approved() {
                pending.decision = Decision::Pending;
                return None;
            }
            // What ran since may have changed what the predicate says.
            if pending.needs_approval == Some(false)
                && let Ok(call) = checked(&*tool, &pending.call)
                && needs_approval(&*tool, &call)
            {
                pending.needs_approval = Some(true);
                return None;
            }
        }
        // A task is kept while it is resumed: a run that is dropped can resume it again.
        if task.is_none() {
            pending.state = CallState::Started;
            pending.attempts += 1;
        }
        let limit = tool.definition().max_run_time().or(self.max_run_time);
        let key = pending.call.idempotency_key();
        let journal = self.journal.as_deref();
        let acting = journal.map(|journal| journal.acting(index, pending));
        let deadline = limit.and_then(|limit| Some(journal?.deadlines().begin(key, limit)));
        let call = pending.approved_call();
        let is_edited = pending.is_edited();
        self.hub.call(&call);
        let spill = self
            .files
            .and_then(|files| SpillOver::of(files, self.spill_to_file, &*tool, self.tools));
        let order = Order {
            tool,
            call,
            is_edited,
            context: Arc::new(RunContext::new(self.hub.clone(), pending, acting)),
            task,
            max_run_time: limit,
            spill,
            outbox: self.outbox.clone(),
            deadline,
        };
        let contents = self.trace_contents;
        Some(async move {
            if !order.tool.definition().is_blocking() {
                return trace::tool(order, contents).await;
            }
            let (outbox, key) = (
                order.outbox.clone(),
                order.call.idempotency_key().to_owned(),
            );
            outbox.apart(key, trace::tool(order, contents)).await;
            Ran::Left
        })
    }

    fn ran(&mut self, index: usize, ran: Ran) -> Result<(), ChatError> {
        self.served_any = true;
        match ran {
            Ran::Done(result) => self.record(index, result),
            Ran::Paused(task) => {
                let pending = &mut self.round.calls[index];
                // Its answers were for what made the task; what asks for it keeps its own.
                if pending.task.replace(task.clone()).is_none() {
                    pending.questions.clear();
                }
                pending.state = CallState::Paused(task);
            }
            Ran::Left => return self.collect(),
            Ran::Unrecorded(error) => return Err(error.into()),
            Ran::Asked(answered, request) => {
                let pending = &mut self.round.calls[index];
                // One that was answered and is now put otherwise is not asked as it was again.
                pending.questions.truncate(answered);
                pending.questions.push(Question {
                    request,
                    answer: None,
                });
                pending.state = CallState::Asking;
            }
            Ran::Fatal(result, error) => {
                let name = result.name.clone();
                self.record(index, result);
                return Err(ChatError::fatal_tool(&name, error));
            }
        }
        Ok(())
    }

    /// Takes what concurrent calls came to. The first fatal error counts.
    fn collect(&mut self) -> Result<(), ChatError> {
        let mut fatal = Ok(());
        for (key, ran) in self.outbox.take() {
            let open =
                |pending: &PendingCall| !pending.is_done() && pending.call.idempotency_key() == key;
            if let Some(index) = self.round.calls.iter().position(open) {
                fatal = fatal.and(self.ran(index, ran));
            }
        }
        fatal
    }

    async fn one_by_one(
        &mut self,
        ready: VecDeque<(usize, Option<Task>)>,
    ) -> Result<Pass, ChatError> {
        for (index, task) in ready {
            let Some(run) = self.start(index, task) else {
                continue;
            };
            self.record_all().await?;
            match self.cancellation.guard(run).await {
                Some(ran) => self.ran(index, ran)?,
                None => return Ok(Pass::Cancelled),
            }
            self.record_all().await?;
        }
        Ok(Pass::Done)
    }

    async fn together(
        &mut self,
        mut ready: VecDeque<(usize, Option<Task>)>,
        limit: usize,
    ) -> Result<Pass, ChatError> {
        let mut running = JoinSet::new();
        let mut started = Vec::new();
        let result = loop {
            while running.len() < limit
                && let Some((index, task)) = ready.pop_front()
            {
                if let Some(run) = self.start(index, task) {
                    self.record_all().await?;
                    let key = self.round.calls[index].call.idempotency_key().to_owned();
                    let outbox = self.outbox.clone();
                    let alive = outbox.alive();
                    let task = running.spawn(async move {
                        let _alive = alive;
                        match run.await {
                            Ran::Left => {}
                            ran => outbox.leave(key, ran),
                        }
                    });
                    started.push((task.id(), index));
                }
            }
            let joined = self.cancellation.guard(running.join_next()).await;
            if let Err(error) = self.collect() {
                break Err(error);
            }
            self.record_all().await?;
            match joined {
                None => break Ok(Pass::Cancelled),
                Some(None) => break Ok(Pass::Done),
                Some(Some(Ok(()))) => {}
                Some(Some(Err(error))) => {
                    let lost = started.iter().find(|(task, _)| *task == error.id());
                    if let Some((_, index)) = lost
                        && !self.round.calls[*index].is_done()
                    {
                        let text = "The tool failed unexpectedly.";
                        let call = &self.round.calls[*index].call;
                        self.record(*index, ToolResult::new(call, Outcome::Error, text));
                    }
                }
            }
        };
        // What finished meanwhile keeps its result; the others are stopped.
        running.shutdown().await;
        let _also_fatal = self.collect();
        result
    }
}

fn unfinished(pending: &PendingCall, why: &str) -> ToolResult {
    match pending.state {
        CallState::Started | CallState::Asking | CallState::Answered => {
            let text = format!("{why} while this call ran. It may have taken effect.");
            ToolResult::new(&pending.call, Outcome::Cancelled, text)
        }
        CallState::Paused(_) => {
            let text =
                format!("{why} while the task of this call went on. It may still take effect.");
            ToolResult::new(&pending.call, Outcome::Cancelled, text)
        }
        _ => ToolResult::new(
            &pending.call,
            Outcome::NotStarted,
            format!("{why} before this call started."),
        ),
    }
}
