//! Chats that survive their process.

mod keeper;
mod mail;
mod running;
mod stored;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use stored::StoredChat;
pub use worker::Worker;

use crate::files::FileStore;
use crate::store::{ChatStore, StoreError, Stored};
use crate::{Chat, ChatError, Config, Model, ToolOptions, ToolSet, ToolSource};

/// How long a process may be silent before another one takes over its chats, unless it is said otherwise.
const LEASE: Duration = Duration::from_secs(15);

/// For how many leases a store that is away is waited for.
const PATIENCE: u32 = 4;

/// What chats have in common: model, instructions, tools, options, and the store in which they are kept.
///
/// Every process that runs chats makes the same agent. [`create`](Agent::create) and
/// [`find`](Agent::find) give its chats; a [`Worker`] runs those that are ready.
///
/// ```
/// use tool_core::store::MemoryChats;
/// use tool_core::testing::ScriptedModel;
/// use tool_core::Agent;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let agent = Agent::new(ScriptedModel::new().text("Hello."), MemoryChats::new());
/// let mut chat = agent.create().await?;
/// println!("{}", chat.ask("Hi").await?);
/// let again = agent.find(chat.id()).await?;
/// assert_eq!(again.messages().len(), 2);
/// # Ok::<_, tool_core::ChatError>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Definition>);

#[derive(Clone)]
struct Definition {
    name: String,
    model: Arc<dyn Model>,
    store: Arc<dyn ChatStore>,
    instructions: Option<String>,
    tools: Vec<ToolSet>,
    sources: Vec<Arc<dyn ToolSource>>,
    tool_options: ToolOptions,
    config: Config,
    files: Option<Arc<dyn FileStore>>,
    lease: Duration,
    owner: String,
    keepers: keeper::Keepers,
}

impl Definition {
    /// How long the store may be away before a run gives up, and what it did since is lost with it.
    fn patience(&self) -> Duration {
        self.lease * PATIENCE
    }
}

impl Agent {
    /// An agent with this model, whose chats are kept in this store. One that shares its store with other
    /// agents is [`named`](Agent::named).
    pub fn new(model: impl Model + 'static, store: impl ChatStore + 'static) -> Self {
        Agent(Arc::new(Definition {
            name: String::new(),
            model: Arc::new(model),
            store: Arc::new(store),
            instructions: None,
            tools: Vec::new(),
            sources: Vec::new(),
            tool_options: ToolOptions::new(),
            config: Config::new(),
            files: None,
            lease: LEASE,
            owner: crate::chat::random_id("process"),
            keepers: keeper::Keepers::default(),
        }))
    }

    /// Names the agent, apart from the others that keep their chats in the same store. Its chats are stored
    /// under the name, which is empty unless it is said otherwise: a [`Worker`] runs those of its own agent,
    /// and [`find`](Agent::find) gives no other.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        self.changed(|agent| agent.name = name.into())
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        self.changed(|agent| agent.instructions = Some(instructions.into()))
    }

    /// Lets the model call these tools, beside those it can call already.
    #[must_use]
    pub fn with_tools(self, tools: ToolSet) -> Self {
        self.changed(|agent| agent.tools.push(tools))
    }

    /// Lets the model call the tools of a source, beside those it can call already. See
    /// [`Chat::with_tools_from`](crate::Chat::with_tools_from).
    #[must_use]
    pub fn with_tools_from(self, source: impl ToolSource + 'static) -> Self {
        self.changed(|agent| agent.sources.push(Arc::new(source)))
    }

    /// Lets the model call the tools of a server of the Model Context Protocol, beside those it can call
    /// already. See [`Chat::with_mcp`](crate::Chat::with_mcp).
    #[must_use]
    pub fn with_mcp(self, server: impl ToolSource + 'static) -> Self {
        self.with_tools_from(server)
    }

    /// Says how the tools are used.
    #[must_use]
    pub fn with_tool_options(self, options: ToolOptions) -> Self {
        self.changed(|agent| agent.tool_options = options)
    }

    /// Sets what holds for all its chats.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        self.changed(|agent| agent.config = config)
    }

    /// Keeps in these files what is too long to send. See
    /// [`Chat::with_file_store`](crate::Chat::with_file_store).
    #[must_use]
    pub fn with_file_store(self, store: impl FileStore + 'static) -> Self {
        self.changed(|agent| agent.files = Some(Arc::new(store)))
    }

    /// Sets how long a process may be silent before another one takes over its chats: 15 seconds, unless
    /// it is said otherwise. It is renewed three times as often. A call that runs on for half as long beyond
    /// its `max_run_time`, because it blocks its thread, counts as crashed too.
    ///
    /// While the store is away, runs wait for four times as long before they give up.
    #[must_use]
    pub fn with_lease(self, length: Duration) -> Self {
        self.changed(|agent| {
            agent.lease = length;
            // Those of another length are renewed at another pace.
            agent.keepers = keeper::Keepers::default();
        })
    }

    /// Makes an empty chat.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn create(&self) -> Result<StoredChat, ChatError> {
        self.create_as(crate::chat::random_id("chat")).await
    }

    /// Makes an empty chat of this id.
    ///
    /// # Errors
    ///
    /// There is such a chat already; or the store's.
    pub async fn create_as(&self, id: impl Into<String>) -> Result<StoredChat, ChatError> {
        let id = id.into();
        self.0.store.create(&id, &self.0.name).await?;
        StoredChat::load(self, id).await
    }

    /// The chat of this id.
    ///
    /// # Errors
    ///
    /// There is no such chat of this agent; or the store's.
    pub async fn find(&self, id: impl Into<String>) -> Result<StoredChat, ChatError> {
        StoredChat::load(self, id.into()).await
    }

    /// Removes the chat of this id, with all that was sent to it.
    ///
    /// # Errors
    ///
    /// It is another agent's; or the store's. A chat that is not there is none the less gone.
    pub async fn delete(&self, id: &str) -> Result<(), ChatError> {
        if let Ok(stored) = self.0.store.load(id, u64::MAX).await {
            self.check(id, &stored)?;
        }
        Ok(self.0.store.delete(id).await?)
    }

    /// Refuses a chat of another agent, whose tools and instructions are others.
    fn check(&self, id: &str, stored: &Stored) -> Result<(), StoreError> {
        match stored.agent == self.0.name {
            true => Ok(()),
            false => Err(StoreError::of_another(id, &stored.agent, &self.0.name)),
        }
    }

    fn changed(mut self, change: impl FnOnce(&mut Definition)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// A chat of this agent in memory.
    fn chat(&self) -> Chat {
        let agent = &self.0;
        let mut chat = Chat::new(agent.model.clone())
            .with_config(agent.config.clone())
            .with_tool_options(agent.tool_options.clone());
        if let Some(instructions) = &agent.instructions {
            chat = chat.with_instructions(instructions.clone());
        }
        if let Some(files) = &agent.files {
            chat = chat.with_file_store(files.clone());
        }
        for tools in &agent.tools {
            chat = chat.with_tools(tools.clone());
        }
        for source in &agent.sources {
            chat = chat.with_tools_from(source.clone());
        }
        chat
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("provider", &self.0.model.provider())
            .field("model", &self.0.model.name())
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}
