//! How a chat is set up.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use super::{Chat, Config, ToolOptions};
use crate::files::FileStore;
use crate::run::{Hub, restore};
use crate::{
    Event, Limits, Message, Model, Progress, RequestOptions, Spill, ToolCall, ToolResult, ToolSet,
    ToolSource, Transcript,
};

impl Chat {
    /// A chat with this model.
    pub fn new(model: impl Model + 'static) -> Self {
        Chat {
            model: Arc::new(model),
            tools: ToolSet::new(),
            sources: Default::default(),
            listed_at: 0,
            tool_options: ToolOptions::new(),
            instructions: None,
            config: Config::new(),
            transcript: Transcript::new(),
            round: Default::default(),
            hub: Arc::new(Hub::default()),
            cancellation: Default::default(),
            outbox: Default::default(),
            resumed: false,
            id: random_id("chat"),
            usage: Default::default(),
            files: None,
            fault: None,
            journal: None,
        }
    }

    /// Lets the model call these tools, beside those it can call already. A name that comes twice
    /// is reported by the next verb.
    #[must_use]
    pub fn with_tools(mut self, tools: ToolSet) -> Self {
        match self.sources.own().try_union(&tools) {
            Ok(tools) => {
                self.sources.set_own(tools);
                self.tools = self.sources.all();
            }
            Err(error) => self.fault = Some(error.to_string()),
        }
        self
    }

    /// Lets the model call the tools of a server of the Model Context Protocol, beside those it can call
    /// already: of an `Mcp`, which `McpServer::connect` of tool-providers (feature `mcp`) gives. The
    /// same as [`with_tools_from`](Chat::with_tools_from).
    #[must_use]
    pub fn with_mcp(self, server: impl ToolSource + 'static) -> Self {
        self.with_tools_from(server)
    }

    /// Lets the model call the tools of a source, beside those it can call already. They are listed when the
    /// chat is first used, and again before the first request after each question of the user, so that what
    /// the model is told of them stays the same within a turn. A name that is taken gets the source's label
    /// before it.
    #[must_use]
    pub fn with_tools_from(mut self, source: impl ToolSource + 'static) -> Self {
        self.sources.add(Arc::new(source));
        self
    }

    /// Lets the model call these tools once it has searched for them: they stay out of its context until
    /// then. Where the provider has no tool search, the model is given one tool that searches and one
    /// that calls what was found; what it is told of the tools never changes.
    #[must_use]
    pub fn with_deferred_tools(self, tools: ToolSet) -> Self {
        self.with_tools(tools.all_deferred())
    }

    /// Takes all tools away, those of sources too. The options stay.
    #[must_use]
    pub fn without_tools(self) -> Self {
        Chat {
            tools: ToolSet::new(),
            sources: Default::default(),
            fault: None,
            ..self
        }
    }

    /// Says how the tools are used. Options that were set before are replaced as a whole.
    #[must_use]
    pub fn with_tool_options(self, tool_options: ToolOptions) -> Self {
        Chat {
            tool_options,
            ..self
        }
    }

    /// Changes how the tools are used from now on.
    pub fn set_tool_options(&mut self, tool_options: ToolOptions) {
        self.tool_options = tool_options;
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        Chat {
            instructions: Some(instructions.into()),
            ..self
        }
    }

    /// Takes over what holds for all chats. What was set before is replaced; what is set after
    /// overrides it.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        Chat { config, ..self }
    }

    /// Sets temperature, the length of answers, and what only one provider knows.
    #[must_use]
    pub fn with_request_options(mut self, request_options: RequestOptions) -> Self {
        self.config.request_options = request_options;
        self
    }

    /// Asks for answers in pieces. The messages are the same either way.
    #[must_use]
    pub fn with_streaming(mut self, streaming: bool) -> Self {
        self.config.streaming = streaming;
        self
    }

    /// Says when a run of the loop stops by itself.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Changes when a run of the loop stops by itself.
    pub fn set_limits(&mut self, limits: Limits) {
        self.config.limits = limits;
    }

    /// Keeps in these files what is too long to send: a result, or an error, of more characters than
    /// [`with_spill_to_file`](Chat::with_spill_to_file) or the tool's own `spill_to_file` says. The
    /// model gets its start and end, how long it is, and the path of the file, which is
    /// `results/<message>-<call>-<tool>-<key>.txt`, the same each time this call runs and different for
    /// every other call, also of other chats. Give it [`FileTools`](crate::files::FileTools) to read
    /// on.
    ///
    /// If the file cannot be written, the model gets as much of the start and end as the limit allows,
    /// and reads that the rest is lost. Without files every result is sent whole.
    #[must_use]
    pub fn with_file_store(mut self, store: impl FileStore + 'static) -> Self {
        self.files = Some(Arc::new(store));
        self
    }

    /// Says which results are too long to send, where their tool does not: those of more than so many
    /// characters, or [`Spill::Never`].
    #[must_use]
    pub fn with_spill_to_file(mut self, limit: impl Into<Spill>) -> Self {
        self.config.spill_to_file = limit.into();
        self
    }

    /// Begins with these messages. Each call is given exactly one result: one that has none further
    /// on is recorded as not started, a result without a call is dropped. If the last answer has calls
    /// without results, these run when the chat goes on.
    #[must_use]
    pub fn with_messages(self, messages: impl IntoIterator<Item = Message>) -> Self {
        let (transcript, round) = restore(messages, &self.id);
        Chat {
            transcript,
            round,
            ..self
        }
    }

    /// Calls `callback` before a tool runs.
    #[must_use]
    pub fn before_tool_call(self, callback: impl Fn(&ToolCall) + Send + Sync + 'static) -> Self {
        self.hub
            .register(|callbacks| callbacks.before_tool_call.push(Box::new(callback)));
        self
    }

    /// Calls `callback` with every result, also with refusals and failures.
    #[must_use]
    pub fn after_tool_result(self, callback: impl Fn(&ToolResult) + Send + Sync + 'static) -> Self {
        self.hub
            .register(|callbacks| callbacks.after_tool_result.push(Box::new(callback)));
        self
    }

    /// Calls `callback` when a running tool reports.
    #[must_use]
    pub fn after_tool_progress(self, callback: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.hub
            .register(|callbacks| callbacks.after_tool_progress.push(Box::new(callback)));
        self
    }

    /// Calls `callback` before the model is asked.
    #[must_use]
    pub fn before_message(self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.hub
            .register(|callbacks| callbacks.before_message.push(Box::new(callback)));
        self
    }

    /// Calls `callback` with every message that is added to the transcript.
    #[must_use]
    pub fn after_message(self, callback: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        self.hub
            .register(|callbacks| callbacks.after_message.push(Box::new(callback)));
        self
    }

    /// Calls `callback` with every event.
    #[must_use]
    pub fn on_event(self, callback: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.hub
            .register(|callbacks| callbacks.on_event.push(Box::new(callback)));
        self
    }
}

/// An id of a chat or a process, different every time: the standard library seeds its hashers at random.
pub(crate) fn random_id(of: &str) -> String {
    let half = |salt: u8| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u8(salt);
        hasher.write_u128(
            SystemTime::UNIX_EPOCH
                .elapsed()
                .unwrap_or_default()
                .as_nanos(),
        );
        hasher.finish()
    };
    format!("{of}-{:016x}{:016x}", half(0), half(1))
}
