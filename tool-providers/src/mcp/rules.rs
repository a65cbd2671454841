//! How the tools of a server are declared here.

use std::sync::Arc;

use tool_core::ToolDefinition;

/// What a server says of a tool. Trust it no more than the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteTool {
    /// Its name on the server.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something; a server that does not say is taken to mean that.
    pub destructive: bool,
    /// It may be called again with the same effect.
    pub idempotent: bool,
    /// It reaches what the server does not know, such as the web.
    pub open_world: bool,
}

impl From<&rmcp::model::Tool> for RemoteTool {
    fn from(tool: &rmcp::model::Tool) -> Self {
        let hints = tool.annotations.clone().unwrap_or_default();
        let read_only = hints.read_only_hint.unwrap_or(false);
        RemoteTool {
            name: tool.name.to_string(),
            title: tool.title.clone().or(hints.title.clone()),
            read_only,
            destructive: !read_only && hints.is_destructive(),
            idempotent: read_only || hints.is_idempotent(),
            open_world: hints.open_world_hint.unwrap_or(true),
        }
    }
}

type Change = dyn Fn(&RemoteTool, ToolDefinition) -> ToolDefinition + Send + Sync;

/// The changes that are made to what a server says.
#[derive(Clone, Default)]
pub(super) struct Rules {
    changes: Vec<Arc<Change>>,
    wanted: Option<Vec<String>>,
    /// The names that must be there for the rules to mean something.
    named: Vec<String>,
}

impl Rules {
    pub(super) fn change(
        &mut self,
        change: impl Fn(&RemoteTool, ToolDefinition) -> ToolDefinition + Send + Sync + 'static,
    ) {
        self.changes.push(Arc::new(change));
    }

    pub(super) fn change_of(
        &mut self,
        names: Vec<String>,
        change: impl Fn(ToolDefinition) -> ToolDefinition + Send + Sync + 'static,
    ) {
        self.named.extend(names.iter().cloned());
        self.change(move |tool, definition| match names.contains(&tool.name) {
            true => change(definition),
            false => definition,
        });
    }

    pub(super) fn only(&mut self, names: Vec<String>) {
        self.named.extend(names.iter().cloned());
        self.wanted = Some(names);
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|wanted| wanted == name))
    }

    pub(super) fn apply(&self, tool: &RemoteTool, definition: ToolDefinition) -> ToolDefinition {
        let changes = self.changes.iter();
        changes.fold(definition, |definition, change| change(tool, definition))
    }

    /// The first name in the rules that no tool has.
    pub(super) fn unknown(&self, tools: &[rmcp::model::Tool]) -> Option<&str> {
        let is_known = |name: &&String| tools.iter().any(|tool| tool.name == name.as_str());
        let unknown = self.named.iter().find(|name| !is_known(name));
        unknown.map(String::as_str)
    }
}
