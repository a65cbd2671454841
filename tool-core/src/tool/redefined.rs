//! One tool, declared differently.

use std::sync::Arc;

use super::{ApprovalFuture, Task, Tool, ToolDefinition, ToolFuture};
use crate::ToolCall;

/// A tool of which one instance is declared differently: deferred, renamed, given another deadline.
///
/// [`Tool::redefine`] and its kin make it.
pub struct Redefined {
    tool: Arc<dyn Tool>,
    definition: ToolDefinition,
}

impl Redefined {
    pub(super) fn new(
        tool: Arc<dyn Tool>,
        change: impl FnOnce(ToolDefinition) -> ToolDefinition,
    ) -> Self {
        let definition = change(tool.definition().clone());
        Redefined { tool, definition }
    }
}

#[diagnostic::do_not_recommend]
impl Tool for Redefined {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn name(&self) -> &str {
        match self.definition.name() == self.tool.definition().name() {
            true => self.tool.name(),
            false => self.definition.name(),
        }
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        self.tool.invoke(call)
    }

    fn requires_approval(&self, call: &ToolCall) -> bool {
        let demanded =
            self.definition.requires_approval() && !self.tool.definition().requires_approval();
        demanded || self.tool.requires_approval(call)
    }

    fn approval<'a>(&'a self, call: &'a ToolCall) -> Option<ApprovalFuture<'a>> {
        self.tool.approval(call)
    }

    fn resume<'a>(&'a self, task: Task, call: &'a ToolCall) -> ToolFuture<'a> {
        self.tool.resume(task, call)
    }
}
