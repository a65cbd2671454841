//! The tools of a chat.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{Named, Tool};

/// Tools, each under its own name, in the order in which they were given.
///
/// Cloning shares the tools and what a protocol rendered of them.
#[derive(Clone, Default)]
pub struct ToolSet(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tools: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
    rendered: Mutex<Option<(u64, Bytes)>>,
}

impl ToolSet {
    /// No tools.
    pub fn new() -> Self {
        ToolSet::default()
    }

    /// A set of these tools.
    ///
    /// # Errors
    ///
    /// Two of them have the same name.
    pub fn try_from_tools(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, DuplicateTool> {
        let mut set = Inner::default();
        for tool in tools {
            let name = tool.name().to_owned();
            if set.by_name.contains_key(&name) {
                return Err(DuplicateTool { name });
            }
            set.by_name.insert(name, set.tools.len());
            set.tools.push(tool);
        }
        Ok(ToolSet(Arc::new(set)))
    }

    /// A set of these tools; what [`tools!`](crate::tools) calls.
    ///
    /// # Panics
    ///
    /// Two of them have the same name. See [`try_from_tools`](ToolSet::try_from_tools) where the
    /// names are not your own.
    #[track_caller]
    pub fn from_tools(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        match ToolSet::try_from_tools(tools) {
            Ok(set) => set,
            Err(error) => panic!("{error}"),
        }
    }

    /// The tools of both sets.
    ///
    /// # Errors
    ///
    /// They share a name.
    pub fn try_union(&self, other: &ToolSet) -> Result<Self, DuplicateTool> {
        if self.is_empty() {
            return Ok(other.clone());
        }
        ToolSet::try_from_tools(self.0.tools.iter().chain(&other.0.tools).cloned())
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.by_name.get(name).map(|index| &self.0.tools[*index])
    }

    /// The tools, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.0.tools.iter()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|tool| tool.name())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.tools.is_empty()
    }

    /// What a protocol makes of the set, made once. `key` tells protocols and dialects apart.
    pub fn render(&self, key: u64, render: impl FnOnce() -> Vec<u8>) -> Bytes {
        let mut slot = self
            .0
            .rendered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((kept, bytes)) if *kept == key => bytes.clone(),
            _ => {
                let bytes = Bytes::from(render());
                *slot = Some((key, bytes.clone()));
                bytes
            }
        }
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Two tools have the same name, so that a model could not tell them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateTool {
    name: String,
}

impl DuplicateTool {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for DuplicateTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "two tools are called `{}`; give one another name with `#[tool(name = \"…\")]`",
            self.name
        )
    }
}

impl std::error::Error for DuplicateTool {}

/// A tool behind a pointer; one that is there already stays as it is.
pub fn boxed(tool: impl Tool + 'static) -> Arc<dyn Tool> {
    Arc::new(tool)
}

/// Whether the name of a type is known: an inherent constant where it is, else that of [`NoName`].
pub struct NameProbe<T>(PhantomData<T>);

impl<T: Named> NameProbe<T> {
    /// The name.
    pub const NAME: Option<&'static str> = Some(T::NAME);
}

/// The fallback of [`NameProbe`].
pub trait NoName {
    /// No name.
    const NAME: Option<&'static str> = None;
}

impl<T> NoName for NameProbe<T> {}
