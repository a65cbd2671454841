//! A small tool-calling model that runs in this process, with no key and no network.
//!
//! [`Embedded`] is Needle 3, a model of 121 million parameters that was trained for one thing: to
//! choose functions and their arguments. It needs about 110 MB of memory. The time of a question grows with
//! the tools: two seconds of one core with one tool, ten with seven. Its arguments are held to the schema of the tool while it writes them.
//!
//! It is no chat model. It reads the last question only, answers it with one round of calls, and
//! writes no prose: the text of its answer is what the tools gave. Where it is not sure, it says
//! that no tool fits. It does best with a handful of tools of few, flat parameters, named and
//! described in the words that a user would say.
//!
//! The file of the model (35 MB) is fetched once; see [`Weights`].
//!
//! ```no_run
//! use tool_providers::embedded::Embedded;
//!
//! # fn main() -> Result<(), tool_providers::embedded::EmbeddedError> {
//! let model = Embedded::new();
//! model.load()?; // optional: else the first question does it
//! # Ok(())
//! # }
//! ```

mod compact;
mod decode;
mod engine;
mod error;
mod fetch;
mod guide;
mod lower;
mod progress;
mod render;
mod turn;
mod weights;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tool_core::model::{Accumulator, Delta, DeltaSink, ModelFuture, Request};
use tool_core::{
    AssistantMessage, FinishReason, Model, ModelError, ModelErrorKind, ToolChoice, ToolSet, Usage,
};

pub use compact::CompactTool;
pub use engine::{Answer, Call, Engine, Question};
pub use error::{EmbeddedError, EmbeddedErrorKind};
pub use weights::Weights;

use turn::{Move, next_move, offered};

/// The embedded model, as the model of a chat.
///
/// It is loaded once a process, when it is first needed, and shared by all chats.
#[derive(Clone, Debug)]
pub struct Embedded {
    weights: Weights,
}

impl Embedded {
    /// The model, in the file that the environment names or in the user's cache.
    pub fn new() -> Self {
        Embedded {
            weights: Weights::from_env(),
        }
    }

    /// Takes the model from elsewhere.
    #[must_use]
    pub fn with_weights(self, weights: Weights) -> Self {
        Embedded { weights }
    }

    /// Fetches the file of the model unless it is there, and tells where it is. This blocks.
    ///
    /// # Errors
    ///
    /// See [`Weights::fetch`].
    pub fn fetch(&self) -> Result<PathBuf, EmbeddedError> {
        self.weights.fetch()
    }

    /// Loads the model, and fetches its file first if need be. This blocks.
    ///
    /// # Errors
    ///
    /// The file cannot be had, or is not the model.
    pub fn load(&self) -> Result<Arc<Engine>, EmbeddedError> {
        static LOADED: Mutex<Vec<(Option<PathBuf>, Arc<Engine>)>> = Mutex::new(Vec::new());
        let path = self.weights.path();
        // Held while it loads, so that chats which start at once load it once.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, engine)) = loaded.iter().find(|(from, _)| *from == path) {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(Engine::load(&self.weights)?);
        loaded.push((path, Arc::clone(&engine)));
        Ok(engine)
    }
}

impl Default for Embedded {
    fn default() -> Self {
        Embedded::new()
    }
}

impl Model for Embedded {
    fn name(&self) -> &str {
        "needle-3"
    }

    fn provider(&self) -> &str {
        "embedded"
    }

    fn generate<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut DeltaSink<'_>,
    ) -> ModelFuture<'a> {
        Box::pin(async move {
            let mut answer = Accumulator::default();
            let mut say = |delta: Delta<'_>| {
                answer.push(&delta);
                sink(&delta);
            };
            say(Delta::Model(self.name()));
            match next_move(&request) {
                Move::Say(text) => {
                    say(Delta::Text(&text));
                    say(Delta::Finish(FinishReason::Stop));
                }
                Move::Choose {
                    question,
                    at_least,
                    at_most,
                } => {
                    let tools = offered(&request);
                    let order = Order {
                        question: question.to_owned(),
                        system: request.instructions.map(str::to_owned),
                        calls: (at_least, at_most),
                        tools: tools.clone(),
                        choice: request.choice.clone(),
                    };
                    let chosen = self.choose(order).await?;
                    let turn = request.transcript.messages().len();
                    tell(&chosen, &tools, turn, &mut say);
                }
            }
            Ok::<AssistantMessage, ModelError>(answer.finish())
        })
    }
}

/// A request without its lifetimes, for the thread that does the work.
struct Order {
    question: String,
    system: Option<String>,
    calls: (usize, usize),
    tools: ToolSet,
    choice: ToolChoice,
}

impl Order {
    fn tools(&self) -> Vec<CompactTool> {
        let chosen = |name: &str| !matches!(&self.choice, ToolChoice::Tool(only) if only != name);
        let tools = self.tools.iter().filter(|tool| chosen(tool.name()));
        let tools = tools.map(|tool| {
            let definition = tool.definition();
            CompactTool::new(
                tool.name(),
                definition.description(),
                definition.schema().as_value(),
            )
        });
        tools.collect()
    }
}

/// Ends the work of a question that nobody waits for.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Embedded {
    async fn choose(&self, order: Order) -> Result<Answer, ModelError> {
        let cancelled = StopOnDrop(Arc::default());
        let (model, flag) = (self.clone(), Arc::clone(&cancelled.0));
        let work = tokio::task::spawn_blocking(move || {
            let question = Question {
                text: &order.question,
                system: order.system.as_deref(),
                calls: order.calls.0..=order.calls.1,
            };
            model.load()?.calls_unless(&question, &order.tools(), &flag)
        });
        match work.await {
            Ok(answer) => answer.map_err(ModelError::from),
            Err(error) => Err(
                ModelError::new(ModelErrorKind::Server, "the embedded model failed")
                    .with_provider("embedded")
                    .with_source(error),
            ),
        }
    }
}

fn tell(chosen: &Answer, tools: &ToolSet, turn: usize, say: &mut dyn FnMut(Delta<'_>)) {
    say(Delta::Thinking(&chosen.thought));
    let finish = if chosen.cut_off {
        say(Delta::Text(
            "I could not finish the calls for that question.",
        ));
        FinishReason::Length
    } else if chosen.calls.is_empty() || !chosen.is_confident() {
        say(Delta::Text(&render::no_tool(
            &tools.names().collect::<Vec<_>>(),
        )));
        FinishReason::Stop
    } else {
        for (slot, call) in chosen.calls.iter().enumerate() {
            say(Delta::CallStart {
                slot,
                id: &format!("call_{turn}_{slot}"),
                name: &call.name,
            });
            say(Delta::CallArguments {
                slot,
                text: call.arguments.get(),
            });
        }
        FinishReason::ToolCalls
    };
    say(Delta::Usage(Usage::new(
        chosen.input_tokens,
        chosen.output_tokens,
    )));
    say(Delta::Finish(finish));
}
