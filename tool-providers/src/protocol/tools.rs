//! The declarations of tools, which all protocols order alike.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde_json::{Map, Value};
use tool_core::model::Request;
use tool_core::{ModelError, ModelErrorKind, Tool, ToolChoice};

use super::json;

/// Writes the declaration of a tool, a JSON object.
type Declare<'a> = dyn Fn(&mut Vec<u8>, &dyn Tool) -> Result<(), ModelError> + 'a;

/// How a protocol declares tools.
pub(super) struct Declarations<'a> {
    /// What comes before the first.
    pub(super) open: &'static [u8],
    /// Tells what is rendered apart from all else.
    pub(super) key: u64,
    /// The protocol, by which a tool's own options are found.
    pub(super) protocol: &'static str,
    /// Whether the provider can be told which of the tools may be called.
    pub(super) is_told: bool,
    /// Writes one.
    pub(super) declare: &'a Declare<'a>,
    /// Writes what comes after the last, without the end of the array.
    pub(super) close: &'a dyn Fn(&mut Vec<u8>),
}

impl Declarations<'_> {
    /// The start of a body with all tools of the request, kept for the next one; `None` where no tool is
    /// declared.
    pub(super) fn block(&self, request: &Request<'_>) -> Result<Option<Bytes>, ModelError> {
        if request.tools.is_empty() {
            return Ok(None);
        }
        let trimmed: Option<Vec<&dyn Tool>> = match (request.choice, request.allowed) {
            _ if self.is_told => None,
            (ToolChoice::None, _) => return Ok(None),
            (ToolChoice::Tool(name), _) => Some(
                request
                    .tools
                    .get(name)
                    .map(|tool| &**tool)
                    .into_iter()
                    .collect(),
            ),
            (_, Some(_)) => {
                let all = request.tools.iter().map(|tool| &**tool);
                Some(all.filter(|tool| request.allows(tool.name())).collect())
            }
            _ => None,
        };
        match trimmed {
            Some(tools) if tools.is_empty() => Ok(None),
            Some(tools) => Ok(Some(self.render(tools.into_iter())?.into())),
            None => request
                .tools
                .render(self.key, || {
                    self.render(request.tools.iter().map(|tool| &**tool))
                })
                .map(Some),
        }
    }

    fn render<'t>(&self, tools: impl Iterator<Item = &'t dyn Tool>) -> Result<Vec<u8>, ModelError> {
        let mut out = Vec::from(self.open);
        for (position, tool) in tools.enumerate() {
            if position > 0 {
                out.push(b',');
            }
            let start = out.len();
            (self.declare)(&mut out, tool)?;
            let options: Vec<_> = tool.definition().provider_options(self.protocol).collect();
            if !options.is_empty() {
                merge_into(&mut out, start, options);
            }
        }
        (self.close)(&mut out);
        Ok(out)
    }
}

/// Whether the tool of this name is one that waits to be searched for.
pub(super) fn is_deferred(request: &Request<'_>, name: &str) -> bool {
    let tool = request.tools.get(name);
    tool.is_some_and(|tool| tool.definition().is_deferred())
}

/// A key that tells apart what is rendered with these tools declared in another way.
pub(super) fn keyed<'n>(key: u64, names: impl Iterator<Item = &'n str>) -> u64 {
    names.fold(key, |key, name| {
        let mut hasher = DefaultHasher::new();
        (key, name).hash(&mut hasher);
        hasher.finish()
    })
}

/// A tool that is to be strict and cannot be.
pub(super) fn not_strict(tool: &dyn Tool, why: impl std::fmt::Display) -> ModelError {
    let text = format!("the tool `{}` cannot be strict: {why}", tool.name());
    ModelError::new(ModelErrorKind::Configuration, text)
}

/// Merges the user's members into the declaration that begins at `start`.
fn merge_into(out: &mut Vec<u8>, start: usize, options: Vec<(&String, &Value)>) {
    if let Ok(Value::Object(mut declaration)) = serde_json::from_slice(&out[start..]) {
        for (key, value) in options {
            merge(&mut declaration, key, value);
        }
        out.truncate(start);
        json::value(out, &declaration);
    }
}

fn merge(target: &mut Map<String, Value>, key: &str, value: &Value) {
    match (target.get_mut(key), value) {
        (Some(Value::Object(inner)), Value::Object(members)) => {
            for (key, value) in members {
                merge(inner, key, value);
            }
        }
        _ => {
            target.insert(key.to_owned(), value.clone());
        }
    }
}
