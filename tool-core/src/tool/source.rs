//! Tools that come from elsewhere and may change.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::{Tool, ToolSet};
use crate::ToolError;

/// What listing the tools of a source gives.
pub type ToolSourceFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ToolSet, ToolError>> + Send + 'a>>;

/// Where tools come from that are known only at run time and may change, such as a server of the Model
/// Context Protocol. See [`Chat::with_tools_from`](crate::Chat::with_tools_from).
pub trait ToolSource: Send + Sync {
    /// What stands before the names of its tools where others have the same ones.
    fn label(&self) -> &str;

    /// The tools as they are now. While they are the same, this gives clones of one set, so that what was
    /// rendered of them stays valid.
    ///
    /// # Errors
    ///
    /// The source cannot say. A chat that knows its tools from before keeps them.
    fn tools(&self) -> ToolSourceFuture<'_>;
}

impl<T: ToolSource + ?Sized> ToolSource for Arc<T> {
    fn label(&self) -> &str {
        (**self).label()
    }

    fn tools(&self) -> ToolSourceFuture<'_> {
        (**self).tools()
    }
}

/// The tools of a chat: its own, and those of sources as they were last listed.
#[derive(Default)]
pub(crate) struct Sources {
    own: ToolSet,
    listed: Vec<Listed>,
    /// Whether some came to have other tools since all were last put together.
    changed: bool,
}

struct Listed {
    source: Arc<dyn ToolSource>,
    tools: Option<ToolSet>,
}

impl Sources {
    pub(crate) fn own(&self) -> &ToolSet {
        &self.own
    }

    pub(crate) fn set_own(&mut self, own: ToolSet) {
        self.own = own;
    }

    pub(crate) fn add(&mut self, source: Arc<dyn ToolSource>) {
        self.listed.push(Listed {
            source,
            tools: None,
        });
    }

    /// Whether some were never listed.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.listed.iter().any(|listed| listed.tools.is_none())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Lists all tools anew. `warn` hears of sources whose tools stay as they were because they cannot say.
    pub(crate) async fn refresh(&mut self, warn: impl Fn(String)) -> Result<(), ToolError> {
        for listed in &mut self.listed {
            match (listed.source.tools().await, &listed.tools) {
                (Ok(tools), Some(before)) if tools.is_same(before) => {}
                (Ok(tools), _) => {
                    listed.tools = Some(tools);
                    self.changed = true;
                }
                (Err(error), Some(_)) => {
                    let label = listed.source.label();
                    warn(format!("the tools of `{label}` stay as they were: {error}"));
                }
                (Err(error), None) => return Err(error),
            }
        }
        Ok(())
    }

    /// All tools, if they changed since this was last asked.
    pub(crate) fn changed(&mut self) -> Option<ToolSet> {
        std::mem::take(&mut self.changed).then(|| self.all())
    }

    /// All tools. One whose name is taken gets the label of its source before it.
    pub(crate) fn all(&self) -> ToolSet {
        let mut all = self.own.clone();
        for Listed { source, tools } in &self.listed {
            let Some(tools) = tools else { continue };
            all = match all.try_union(tools) {
                Ok(all) => all,
                Err(_) => union(&all, tools, source.label()),
            };
        }
        all
    }
}

fn union(all: &ToolSet, more: &ToolSet, label: &str) -> ToolSet {
    let mut tools: Vec<Arc<dyn Tool>> = all.iter().cloned().collect();
    let is_free = |tools: &[Arc<dyn Tool>], name: &str| {
        more.get(name).is_none() && tools.iter().all(|tool| tool.name() != name)
    };
    for tool in more.iter() {
        match all.get(tool.name()) {
            None => tools.push(tool.clone()),
            Some(_) => {
                let name = (1..)
                    .map(|number| labelled(label, tool.name(), number))
                    .find(|name| is_free(&tools, name))
                    .unwrap_or_default();
                tools.push(Arc::new(tool.clone().renamed(name)));
            }
        }
    }
    // The names are free, and as portable as those that they are made of.
    ToolSet::try_from_tools(tools).unwrap_or_else(|_| all.clone())
}

/// `label_name`, in letters that providers accept, and as short as they want it.
fn labelled(label: &str, name: &str, number: usize) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => character,
        _ => '_',
    };
    let mut start: String = label.chars().map(plain).collect();
    if !start.starts_with(|first: char| first.is_ascii_alphabetic()) {
        start.insert(0, '_');
    }
    let end = match number {
        1 => String::new(),
        number => format!("_{number}"),
    };
    start.truncate(32);
    let rest = 64 - start.len() - 1 - end.len();
    format!("{start}_{}{end}", &name[..name.len().min(rest)])
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.listed.iter().map(|listed| listed.source.label());
        f.debug_list().entries(labels).finish()
    }
}
