//! For the tests of an application: a model that follows a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::model::{Accumulator, Delta, DeltaSink, Model, ModelError, ModelFuture, Request};
use crate::{AssistantMessage, Calls, FinishReason, Message, ToolChoice, Usage};

/// A model that gives the answers of a script, one for each request, and remembers what it was asked.
///
/// It fails the test when it is asked more than the script holds, and when it is dropped before the
/// script is used up.
#[derive(Clone, Default)]
pub struct ScriptedModel(Arc<Script>);

#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<RecordedRequest>>,
}

enum Answer {
    Deltas(Vec<Owned>),
    Error(ModelError),
}

enum Owned {
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Usage(Usage),
    Finish(FinishReason),
}

/// What a [`ScriptedModel`] was asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The system prompt.
    pub instructions: Option<String>,
    /// The messages.
    pub messages: Vec<Message>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// Whether and which tools the model might call.
    pub choice: ToolChoice,
    /// How many calls the answer might hold.
    pub calls: Calls,
    /// Whether pieces were wanted.
    pub stream: bool,
}

impl ScriptedModel {
    /// A model without a script: add answers in order.
    pub fn new() -> Self {
        ScriptedModel::default()
    }

    /// Then it answers with text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.push(vec![Owned::Text(text.into())], FinishReason::Stop)
    }

    /// Then it calls one tool. `arguments` is an object, or a string of any text at all.
    #[must_use]
    pub fn call(self, name: &str, arguments: impl Into<Value>) -> Self {
        self.calls([(name, arguments.into())])
    }

    /// Then it calls several tools in one answer.
    #[must_use]
    pub fn calls<'a>(self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let answer = self.lock().len();
        let calls = calls
            .into_iter()
            .enumerate()
            .map(|(position, (name, arguments))| Owned::Call {
                id: format!("call_{answer}_{position}"),
                name: name.into(),
                arguments: match arguments {
                    Value::String(text) => text,
                    value => value.to_string(),
                },
            });
        let calls = calls.collect();
        self.push(calls, FinishReason::ToolCalls)
    }

    /// The last answer added ends for this reason.
    #[must_use]
    pub fn finish(self, reason: FinishReason) -> Self {
        self.amend(Owned::Finish(reason))
    }

    /// The last answer added costs this.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.amend(Owned::Usage(usage))
    }

    /// Then it fails.
    #[must_use]
    pub fn error(self, error: ModelError) -> Self {
        self.lock().push_back(Answer::Error(error));
        self
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.0
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many answers are left.
    pub fn remaining(&self) -> usize {
        self.lock().len()
    }

    fn push(self, mut answer: Vec<Owned>, finish: FinishReason) -> Self {
        answer.push(Owned::Finish(finish));
        self.lock().push_back(Answer::Deltas(answer));
        self
    }

    fn amend(self, delta: Owned) -> Self {
        if let Some(Answer::Deltas(answer)) = self.lock().back_mut() {
            answer.push(delta);
        }
        self
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Answer>> {
        self.0
            .answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(
        &self,
        request: Request<'_>,
        sink: &mut DeltaSink<'_>,
    ) -> Result<AssistantMessage, ModelError> {
        self.0
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(RecordedRequest {
                instructions: request.instructions.map(str::to_owned),
                messages: request.transcript.messages().to_vec(),
                tools: request.tools.names().map(str::to_owned).collect(),
                choice: request.choice.clone(),
                calls: request.calls,
                stream: request.stream,
            });
        let answer = self.lock().pop_front();
        let answer = match answer {
            Some(Answer::Deltas(answer)) => answer,
            Some(Answer::Error(error)) => return Err(error),
            None => panic!("the scripted model was asked more often than its script has answers"),
        };
        let mut accumulator = Accumulator::default();
        let mut say = |delta: Delta<'_>| {
            accumulator.push(&delta);
            sink(&delta);
        };
        say(Delta::Model("scripted"));
        for (slot, delta) in answer.into_iter().enumerate() {
            match delta {
                Owned::Text(text) => say(Delta::Text(&text)),
                Owned::Call {
                    id,
                    name,
                    arguments,
                } => {
                    say(Delta::CallStart {
                        slot,
                        id: &id,
                        name: &name,
                    });
                    say(Delta::CallArguments {
                        slot,
                        text: &arguments,
                    });
                }
                Owned::Usage(usage) => say(Delta::Usage(usage)),
                Owned::Finish(reason) => say(Delta::Finish(reason)),
            }
        }
        Ok(accumulator.finish())
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn provider(&self) -> &str {
        "testing"
    }

    fn generate<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut DeltaSink<'_>,
    ) -> ModelFuture<'a> {
        Box::pin(async move { self.answer(request, sink) })
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let left = self
            .answers
            .lock()
            .map(|answers| answers.len())
            .unwrap_or_default();
        if left > 0 && !std::thread::panicking() {
            panic!("{left} answer(s) of the script were never asked for");
        }
    }
}
