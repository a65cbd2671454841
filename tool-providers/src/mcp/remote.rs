//! Which server, how it is reached, and how its tools are used.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tool_core::{Spill, ToolDefinition};

use super::client::Mcp;
use super::rules::{RemoteTool, Rules};
use super::{McpError, web};
use crate::Secret;

/// How long a server may take to say what it can do.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server of the Model Context Protocol: how it is reached, and how its tools are used.
/// [`connect`](McpServer::connect) gives the tools.
///
/// ```no_run
/// use std::time::Duration;
///
/// use tool_core::Chat;
/// use tool_providers::mcp::McpServer;
///
/// # async fn example(model: impl tool_core::Model + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// let files = McpServer::command("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."])
///     .requires_approval_if(|tool| tool.destructive)
///     .with_max_run_time(Duration::from_secs(60))
///     .connect()
///     .await?;
/// let chat = Chat::new(model).with_mcp(files);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct McpServer {
    pub(super) reach: Reach,
    pub(super) label: Option<String>,
    pub(super) is_prefixed: bool,
    pub(super) rules: Rules,
    pub(super) generation: Generation,
    pub(super) patience: Duration,
}

/// How a server is reached.
#[derive(Clone)]
pub(super) enum Reach {
    Process(Program),
    Web(Address),
}

/// A process that is started here.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) name: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) inherits: bool,
    pub(super) directory: Option<PathBuf>,
}

/// A server elsewhere.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) url: String,
    pub(super) token: Option<Secret>,
    pub(super) headers: Vec<(String, Secret)>,
}

/// Which generations of the protocol are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generation {
    /// The newer one, and the older one where the server does not know that.
    #[default]
    Any,
    /// The one without a handshake, of 2026.
    Stateless,
    /// The one with a handshake, up to 2025.
    Handshake,
}

impl McpServer {
    /// A process that speaks on its standard input and output. It is started here, and killed with the last
    /// handle on it, with all that it has started.
    ///
    /// Of the variables of this process it sees those without which programs do not run, such as `PATH` and
    /// `HOME`, and no keys: see [`with_variable`](McpServer::with_variable).
    pub fn command<S: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        McpServer::at(Reach::Process(Program {
            name: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            variables: Vec::new(),
            inherits: false,
            directory: None,
        }))
    }

    /// A server that speaks streamable HTTP at this address.
    pub fn http(url: impl Into<String>) -> Self {
        McpServer::at(Reach::Web(Address {
            url: url.into(),
            token: None,
            headers: Vec::new(),
        }))
    }

    fn at(reach: Reach) -> Self {
        McpServer {
            reach,
            label: None,
            is_prefixed: false,
            rules: Rules::default(),
            generation: Generation::Any,
            patience: PATIENCE,
        }
    }

    /// Starts or reaches the server and lists its tools.
    ///
    /// # Errors
    ///
    /// It could not be started or reached, or it did not say what it can do in time; a tool that is named
    /// here is not there; see [`McpErrorKind`](super::McpErrorKind).
    pub async fn connect(self) -> Result<Mcp, McpError> {
        Mcp::connect(self).await
    }

    /// Names the server. The name stands in errors, and before names of tools that are taken.
    #[must_use]
    pub fn named(self, label: impl Into<String>) -> Self {
        McpServer {
            label: Some(label.into()),
            ..self
        }
    }

    /// Puts the server's name before the name of each tool, not only of those whose names are taken.
    #[must_use]
    pub fn prefixed(self) -> Self {
        McpServer {
            is_prefixed: true,
            ..self
        }
    }

    /// Sets a variable of the server's process.
    #[must_use]
    pub fn with_variable(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.program(|program| program.variables.push((name.into(), value.into())))
    }

    /// Lets the server's process see all variables of this one, keys among them.
    #[must_use]
    pub fn with_all_variables(self) -> Self {
        self.program(|program| program.inherits = true)
    }

    /// Starts the server's process in this folder.
    #[must_use]
    pub fn in_directory(self, directory: impl Into<PathBuf>) -> Self {
        self.program(|program| program.directory = Some(directory.into()))
    }

    fn program(mut self, change: impl FnOnce(&mut Program)) -> Self {
        if let Reach::Process(program) = &mut self.reach {
            change(program);
        }
        self
    }

    /// Sends this bearer token with each request over HTTP.
    #[must_use]
    pub fn with_bearer_token(self, token: impl Into<Secret>) -> Self {
        self.address(|address| address.token = Some(token.into()))
    }

    /// Sends this header with each request over HTTP.
    #[must_use]
    pub fn with_header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.address(|address| address.headers.push((name.into(), value.into())))
    }

    fn address(mut self, change: impl FnOnce(&mut Address)) -> Self {
        if let Reach::Web(address) = &mut self.reach {
            change(address);
        }
        self
    }

    /// Says which generations of the protocol are tried: any, unless it is said otherwise.
    #[must_use]
    pub fn with_generation(self, generation: Generation) -> Self {
        McpServer { generation, ..self }
    }

    /// Sets how long the server may take to be connected, and to list its tools: 30 seconds, unless it is
    /// said otherwise. How long a call may take is [`with_max_run_time`](McpServer::with_max_run_time).
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        McpServer { patience, ..self }
    }

    /// Declares each tool differently: what it is given is what the server says of the tool, and what is
    /// declared of it so far. Changes are made in the order in which they were given.
    #[must_use]
    pub fn define(
        mut self,
        change: impl Fn(&RemoteTool, ToolDefinition) -> ToolDefinition + Send + Sync + 'static,
    ) -> Self {
        self.rules.change(change);
        self
    }

    /// Declares one tool differently, by its name on the server.
    #[must_use]
    pub fn define_tool(
        mut self,
        name: impl Into<String>,
        change: impl Fn(ToolDefinition) -> ToolDefinition + Send + Sync + 'static,
    ) -> Self {
        self.rules.change_of(vec![name.into()], change);
        self
    }

    /// Uses these tools only, by their names on the server.
    #[must_use]
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.rules.only(names.into_iter().map(Into::into).collect());
        self
    }

    /// Keeps all tools out of the model's context until they are searched for.
    #[doc(alias = "defer")]
    #[must_use]
    pub fn deferred(self) -> Self {
        self.define(|_, definition| definition.deferred())
    }

    /// Makes every call of every tool wait for a decision.
    #[must_use]
    pub fn requires_approval(self) -> Self {
        self.requires_approval_if(|_| true)
    }

    /// Makes every call of some tools wait for a decision: `|tool| !tool.read_only`.
    #[must_use]
    pub fn requires_approval_if(
        self,
        wanted: impl Fn(&RemoteTool) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.define(move |tool, definition| match wanted(tool) {
            true => definition.approval_required(),
            false => definition,
        })
    }

    /// Makes every call of these tools wait for a decision, by their names on the server.
    #[must_use]
    pub fn requires_approval_of<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.rules
            .change_of(names, ToolDefinition::approval_required);
        self
    }

    /// Limits how long a call may run.
    #[doc(alias = "max_run_time")]
    #[must_use]
    pub fn with_max_run_time(self, limit: Duration) -> Self {
        self.define(move |_, definition| definition.with_max_run_time(limit))
    }

    /// Says when results are kept in a file.
    #[doc(alias = "spill_to_file")]
    #[must_use]
    pub fn with_spill_to_file(self, limit: impl Into<Spill>) -> Self {
        let limit = limit.into();
        self.define(move |_, definition| definition.with_spill_to_file(limit))
    }

    /// What it is called until it has said its own name.
    pub(super) fn provisional_label(&self) -> String {
        match (&self.label, &self.reach) {
            (Some(label), _) => label.clone(),
            (None, Reach::Process(program)) => program.name.to_string_lossy().into_owned(),
            (None, Reach::Web(address)) => web::host(&address.url),
        }
    }
}

/// Variables and arguments may hold keys, and are not shown.
impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("label", &self.provisional_label())
            .finish_non_exhaustive()
    }
}
