//! A server that is connected.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::Tool as Listed;
use tokio::time::timeout;
use tool_core::{Tool, ToolSet, ToolSource, ToolSourceFuture};

use super::names::legal;
use super::remote::McpServer;
use super::session::Session;
use super::tool::McpTool;
use super::{McpError, McpErrorKind};

/// A server of the Model Context Protocol that is connected: hand it to
/// [`Chat::with_mcp`](tool_core::Chat::with_mcp) or to an agent.
///
/// Cloning shares the connection, as do the chats and tools that came of it. With the last of them the
/// server's process ends. Where the connection breaks, the call that runs gets an error as its result, and
/// the next call or turn connects anew; a server that fails again and again is left alone for longer each
/// time. What it lists then is what the next turn offers.
///
/// A result of a call may be text, images and files; what the server calls an error is one here too.
/// A question of the server pauses the call as [`ToolCall::ask`](tool_core::ToolCall::ask) does; it is kept
/// on the server meanwhile, where that is patient. A call that is not needed any more is cancelled there.
/// A call that was interrupted is not made again unless the server says that this does no harm; what
/// becomes of it otherwise is [`AfterCrash::Report`](tool_core::AfterCrash::Report), unless it is declared
/// differently.
#[derive(Clone)]
pub struct Mcp(Arc<Client>);

struct Client {
    session: Arc<Session>,
    known: Mutex<Known>,
}

/// What the server listed last, and what became of it.
#[derive(Clone, Default)]
struct Known {
    listed: Vec<Listed>,
    tools: ToolSet,
}

impl Mcp {
    pub(super) async fn connect(server: McpServer) -> Result<Self, McpError> {
        let mcp = Mcp(Arc::new(Client {
            session: Arc::new(Session::open(server).await?),
            known: Mutex::default(),
        }));
        mcp.refresh().await?;
        let known = mcp.known();
        let session = &mcp.0.session;
        if let Some(unknown) = session.server.rules.unknown(&known.listed) {
            let names: Vec<&str> = known.listed.iter().map(|tool| tool.name.as_ref()).collect();
            let text = format!(
                "the MCP server `{}` has no tool `{unknown}`; it has: {}",
                session.label,
                names.join(", ")
            );
            return Err(McpError::new(McpErrorKind::Configuration, text));
        }
        Ok(mcp)
    }

    /// The tools as they were last listed.
    pub fn tool_set(&self) -> ToolSet {
        self.known().tools
    }

    /// Lists the tools anew if the server said that they changed, or had to be connected anew.
    ///
    /// # Errors
    ///
    /// The server could not be reached, or did not answer in time. The tools stay as they were.
    pub async fn refresh(&self) -> Result<ToolSet, McpError> {
        let session = &self.0.session;
        let connection = session.connection().await?;
        if !connection.flights.set_changed(false) {
            return Ok(self.tool_set());
        }
        let patience = session.server.patience;
        let listed = timeout(patience, connection.list(&session.label)).await;
        let listed = listed.unwrap_or_else(|_| {
            let label = &session.label;
            let text =
                format!("the MCP server `{label}` did not list its tools within {patience:?}");
            Err(McpError::new(McpErrorKind::Timeout, text))
        });
        let listed = listed.inspect_err(|_| {
            connection.flights.set_changed(true);
        })?;
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.listed != listed {
            known.tools = tools(session, &listed)?;
            known.listed = listed;
        }
        Ok(known.tools.clone())
    }

    fn known(&self) -> Known {
        let known = self.0.known.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tools that were listed and are wanted, under names of which there is one each.
fn tools(session: &Arc<Session>, listed: &[Listed]) -> Result<ToolSet, McpError> {
    let mut taken: Vec<String> = Vec::new();
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for tool in listed {
        if !session.server.rules.wants(&tool.name) {
            continue;
        }
        let name = match session.server.is_prefixed {
            true => legal(&format!("{}_{}", session.label, tool.name), &taken),
            false => legal(&tool.name, &taken),
        };
        let tool = McpTool::new(session.clone(), tool, name);
        taken.push(tool.name().to_owned());
        tools.push(Arc::new(tool));
    }
    ToolSet::try_from_tools(tools)
        .map_err(|error| McpError::new(McpErrorKind::Configuration, error.to_string()))
}

impl ToolSource for Mcp {
    fn label(&self) -> &str {
        &self.0.session.label
    }

    fn tools(&self) -> ToolSourceFuture<'_> {
        Box::pin(async { Ok(self.refresh().await?) })
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp")
            .field("label", &self.0.session.label)
            .field("tools", &self.tool_set())
            .finish_non_exhaustive()
    }
}
