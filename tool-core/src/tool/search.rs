//! How a model finds and calls deferred tools where its provider has no search of its own.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::rank::Index;
use super::{Tool, ToolDefinition, ToolFuture, ToolOutput, ToolSet};
use crate::{Schema, ToolCall, ToolError};

/// How many tools a search gives unless it is asked for more, and at most.
const HITS: usize = 5;
const MOST_HITS: usize = 20;

/// The longest schema that a hit shows, in bytes.
const LONGEST_SCHEMA: usize = 8_000;

/// How many names are listed where nothing was found.
const LISTED: usize = 40;

/// The tool that finds deferred tools.
pub(super) struct SearchTools {
    definition: ToolDefinition,
    /// The name of the tool by which found ones are called.
    caller: String,
    deferred: Vec<Arc<dyn Tool>>,
    index: OnceLock<Index>,
}

/// The tool by which a found tool is called. The loop puts the tool that is meant in its place, so that
/// it runs only where that could not be told.
pub(super) struct CallTool {
    definition: ToolDefinition,
}

/// The two tools for a set that has deferred ones, under names that are free in it.
pub(super) fn search_tools(set: &ToolSet) -> Option<(SearchTools, CallTool)> {
    let free = |name: &str, other: &str| {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = [name.to_owned(), other.to_owned()]
            .into_iter()
            .chain(numbered);
        names.find(|name| set.get(name).is_none())
    };
    let search = free("search_tools", "find_tools")?;
    let caller = free("call_tool", "call_found_tool")?;
    let deferred: Vec<Arc<dyn Tool>> = set
        .iter()
        .filter(|tool| tool.definition().is_deferred())
        .cloned()
        .collect();
    let definition = ToolDefinition::new(
        search,
        format!(
            "Searches {} more tools by what they do. Use it when no other tool fits. Then call the one you need with `{caller}`.",
            deferred.len()
        ),
        schema(
            json!({
                "query": { "type": "string", "description": "What the tool should do, in a few words." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST_HITS, "description": "How many tools to list at most; 5 when left out." }
            }),
            &["query"],
        )?,
    );
    let search = SearchTools {
        definition: definition.with_spill_to_file(super::Spill::Never),
        caller: caller.clone(),
        deferred,
        index: OnceLock::new(),
    };
    let definition = ToolDefinition::new(
        caller,
        "Calls a tool that a search found.",
        schema(
            json!({
                "name": { "type": "string", "description": "The name of the tool, as the search gave it." },
                "arguments": { "type": "object", "additionalProperties": true, "description": "The tool's arguments, by its own schema." }
            }),
            &["name", "arguments"],
        )?,
    );
    Some((search, CallTool { definition }))
}

fn schema(properties: Value, required: &[&str]) -> Option<Schema> {
    Schema::new(json!({ "type": "object", "properties": properties, "required": required })).ok()
}

impl Tool for SearchTools {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = self.definition.check(call)?;
            let query = arguments
                .get("query")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let limit = arguments
                .get("limit")
                .and_then(Value::as_u64)
                .map_or(HITS, |limit| limit as usize);
            Ok(ToolOutput::text(self.found(query, limit)))
        })
    }
}

impl SearchTools {
    /// One that finds only tools of these names.
    pub(super) fn among(&self, names: &[String]) -> SearchTools {
        let deferred = self.deferred.iter();
        SearchTools {
            definition: self.definition.clone(),
            caller: self.caller.clone(),
            deferred: deferred
                .filter(|tool| names.iter().any(|name| name == tool.name()))
                .cloned()
                .collect(),
            index: OnceLock::new(),
        }
    }

    fn found(&self, query: &str, limit: usize) -> String {
        let index = self
            .index
            .get_or_init(|| Index::new(self.deferred.iter().map(|tool| tool.definition())));
        let hits = index.search(query, limit);
        if self.deferred.is_empty() {
            return "None of these tools can be called now.".into();
        }
        if hits.is_empty() {
            let names: Vec<&str> = self
                .deferred
                .iter()
                .take(LISTED)
                .map(|tool| tool.name())
                .collect();
            let more = match self.deferred.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return format!(
                "No tool matches. Try other words; the tools are: {}{more}.",
                names.join(", ")
            );
        }
        let mut text = format!("Call one of these with `{}`:", self.caller);
        for tool in hits.into_iter().map(|hit| &self.deferred[hit]) {
            let definition = tool.definition();
            let json = definition.schema().as_json();
            let schema = match json.len() <= LONGEST_SCHEMA {
                true => String::from_utf8_lossy(json),
                false => "too long to be shown; call it, and read what is wrong".into(),
            };
            text.push_str(&format!(
                "\n\n{}: {}\narguments: {schema}",
                tool.name(),
                definition.description()
            ));
        }
        text
    }
}

impl Tool for CallTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn invoke<'a>(&'a self, call: &'a ToolCall) -> ToolFuture<'a> {
        Box::pin(async move {
            self.definition.check(call)?;
            Err(ToolError::new(format!(
                "`{}` calls other tools, not itself",
                call.name
            )))
        })
    }
}

impl CallTool {
    /// The call that is meant.
    pub(super) fn meant(&self, call: &ToolCall) -> Option<ToolCall> {
        let mut arguments = self.definition.check(call).ok()?;
        let name = arguments.get("name")?.as_str()?.to_owned();
        let inner = arguments.shift_remove("arguments")?;
        (name != self.definition.name()).then(|| call.redirected(name, inner.into()))
    }
}
