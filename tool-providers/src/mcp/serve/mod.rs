//! Our tools as a server.

mod call;
mod declare;
mod form;
mod progress;
mod voice;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ErrorData, GetTaskParams,
    GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::TaskManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tool_core::{Chat, ToolSet, ToolSetError};

use self::call::Serving;
use super::{McpError, McpErrorKind};

/// How many calls may wait for an answer of the client's user between two requests.
const MOST_PARKED: usize = 256;

/// Tools as a server of the Model Context Protocol.
///
/// A call runs as in a chat: its arguments are checked, it has its deadline, and a panic is an error. What a
/// tool reports reaches the client as progress. A tool that asks has its client ask its user; so does a call
/// that waits for approval. A client that cannot ask gets an error that says so. A
/// [`Task`](tool_core::Task) is one for a client that knows tasks, and else is waited for.
///
/// What the protocol says of a tool beside name, description and schema, such as `annotations`, can be given
/// as its `provider_options` for `mcp`.
///
/// ```no_run
/// use tool_core::{tool, tools};
/// use tool_providers::mcp::McpService;
///
/// /// Adds two numbers.
/// #[tool(provider_options(mcp = { "annotations": { "readOnlyHint": true } }))]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// McpService::new(tools![Add]).serve_stdio().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct McpService(Arc<Definition>);

type Prepare = dyn Fn(Chat) -> Chat + Send + Sync;

#[derive(Clone)]
struct Definition {
    tools: ToolSet,
    name: String,
    version: String,
    instructions: Option<String>,
    prepare: Vec<Arc<Prepare>>,
    hosts: Vec<String>,
    tasks: TaskManager,
    /// Calls that wait for an answer, by what the client sends back with it.
    parked: Arc<Mutex<HashMap<String, Serving>>>,
}

/// Serves tools on the standard input and output of this process, until the input ends. See
/// [`McpService`].
///
/// # Errors
///
/// As [`McpService::serve_stdio`].
pub async fn serve_stdio(tools: ToolSet) -> Result<(), McpError> {
    McpService::new(tools).serve_stdio().await
}

impl McpService {
    /// A server of these tools. Deferred ones are listed too: a client does not search.
    pub fn new(tools: ToolSet) -> Self {
        McpService(Arc::new(Definition {
            tools,
            name: "tool-core".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: None,
            prepare: Vec::new(),
            hosts: Vec::new(),
            tasks: TaskManager::new(),
            parked: Arc::default(),
        }))
    }

    /// More tools.
    ///
    /// # Errors
    ///
    /// Their names are taken.
    pub fn with_tools(self, tools: &ToolSet) -> Result<Self, ToolSetError> {
        let tools = self.0.tools.try_union(tools)?;
        Ok(self.changed(|definition| definition.tools = tools))
    }

    /// Says what the server is called, and its version.
    #[must_use]
    pub fn named(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.changed(|definition| {
            definition.name = name.into();
            definition.version = version.into();
        })
    }

    /// Says how the tools are to be used.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        self.changed(|definition| definition.instructions = Some(instructions.into()))
    }

    /// Sets up the chat in which each call runs: callbacks such as
    /// [`after_tool_progress`](Chat::after_tool_progress), a file store, a configuration.
    #[must_use]
    pub fn with_chat(self, prepare: impl Fn(Chat) -> Chat + Send + Sync + 'static) -> Self {
        self.changed(|definition| definition.prepare.push(Arc::new(prepare)))
    }

    /// Answers requests over HTTP that name these hosts, beside those that name this machine. Others are
    /// refused, so that a page in a browser cannot reach the server by a name that leads here.
    #[must_use]
    pub fn with_hosts<S: Into<String>>(self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.changed(|definition| definition.hosts.extend(hosts.into_iter().map(Into::into)))
    }

    /// Serves on the standard input and output of this process, until the input ends. Nothing else may be
    /// written to the output: `println!` is no longer for people, `eprintln!` is.
    ///
    /// # Errors
    ///
    /// The client does not speak the protocol, or is gone before it has said what it can do.
    pub async fn serve_stdio(self) -> Result<(), McpError> {
        let pipes = (tokio::io::stdin(), tokio::io::stdout());
        let failed = |text: String| McpError::new(McpErrorKind::Connect, text);
        let serving = self.serve(pipes).await.map_err(|error| {
            failed(format!("the MCP client could not be served: {error}")).with_source(error)
        })?;
        serving.waiting().await.map_err(|error| {
            failed(format!("serving the MCP client failed: {error}")).with_source(error)
        })?;
        Ok(())
    }

    /// The server as a `tower` service that speaks streamable HTTP:
    /// `Router::new().nest_service("/mcp", service.into_http())`. It asks for no token: put that before it.
    pub fn into_http(self) -> StreamableHttpService<McpService, LocalSessionManager> {
        let mut config = StreamableHttpServerConfig::default();
        config.allowed_hosts.extend(self.0.hosts.iter().cloned());
        let service = move || Ok(self.clone());
        StreamableHttpService::new(service, Arc::default(), config)
    }

    fn changed(mut self, change: impl FnOnce(&mut Definition)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Keeps a call until its client's user has answered.
    fn park(&self, state: String, serving: Serving) {
        let mut parked = self.0.parked.lock().unwrap_or_else(PoisonError::into_inner);
        if parked.len() >= MOST_PARKED
            && let Some(oldest) = parked
                .iter()
                .min_by_key(|(_, serving)| serving.since())
                .map(|(state, _)| state.clone())
        {
            parked.remove(&oldest);
        }
        parked.insert(state, serving);
    }

    fn unpark(&self, state: &str) -> Option<Serving> {
        let mut parked = self.0.parked.lock().unwrap_or_else(PoisonError::into_inner);
        parked.remove(state)
    }
}

impl ServerHandler for McpService {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tasks()
            .build();
        let mut info = ServerConfig::new(capabilities).with_server_info(Implementation::new(
            self.0.name.clone(),
            self.0.version.clone(),
        ));
        info.instructions = self.0.instructions.clone();
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools.iter().map(|tool| declare::of(&**tool));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &request.name;
        if self.0.tools.get(name).is_none() {
            let names: Vec<&str> = self.0.tools.names().collect();
            let text = format!(
                "there is no tool `{name}`; the tools are: {}",
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(Cow::Owned(text), None));
        }
        call::run(self, request, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.0.tasks.get_task(&request.task_id)?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let tasks = &self.0.tasks;
        tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.tasks.cancel_task(&request.task_id)
    }
}

impl fmt::Debug for McpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpService")
            .field("name", &self.0.name)
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}
