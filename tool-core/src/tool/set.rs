//! The tools of a chat.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::search::{CallTool, SearchTools, search_tools};
use super::{Named, Tool};
use crate::ToolCall;

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
    has_deferred: bool,
    /// What a model sees of a set with deferred tools.
    visible: OnceLock<ToolSet>,
    /// By which a set that is such a view finds deferred tools, and by which it calls them.
    finders: Option<(Arc<SearchTools>, Arc<CallTool>)>,
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
    /// Two of them have the same name, or one has a name that a provider would refuse.
    pub fn try_from_tools(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, ToolSetError> {
        let mut set = Inner::default();
        for tool in tools {
            let name = tool.name().to_owned();
            let kind = match set.by_name.contains_key(&name) {
                true => Some(ToolSetErrorKind::DuplicateName),
                false if !is_portable(&name) => Some(ToolSetErrorKind::Name),
                false => None,
            };
            if let Some(kind) = kind {
                return Err(ToolSetError { kind, name });
            }
            set.has_deferred |= tool.definition().is_deferred();
            set.by_name.insert(name, set.tools.len());
            set.tools.push(tool);
        }
        Ok(ToolSet(Arc::new(set)))
    }

    /// A set of these tools; what [`tools!`](crate::tools) calls.
    ///
    /// # Panics
    ///
    /// Two of them have the same name, or one has a name that a provider would refuse. See [`try_from_tools`](ToolSet::try_from_tools) where the
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
    pub fn try_union(&self, other: &ToolSet) -> Result<Self, ToolSetError> {
        if self.is_empty() {
            return Ok(other.clone());
        }
        ToolSet::try_from_tools(self.0.tools.iter().chain(&other.0.tools).cloned())
    }

    /// Whether it is the very same set, so that what was rendered of it holds for both.
    pub(crate) fn is_same(&self, other: &ToolSet) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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

    /// The tools that wait to be searched for, in order.
    pub fn deferred(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.iter().filter(|tool| tool.definition().is_deferred())
    }

    /// What a model sees of the set whose provider has no tool search: the tools that are not deferred
    /// and, if some are, one tool that finds those and one that calls what was found. It is the same
    /// for the whole life of the set, so that its rendered form is too.
    pub fn visible(&self) -> ToolSet {
        if !self.0.has_deferred {
            return self.clone();
        }
        let view = self.0.visible.get_or_init(|| {
            let mut view = Inner::default();
            let mut tools: Vec<Arc<dyn Tool>> = self
                .iter()
                .filter(|tool| !tool.definition().is_deferred())
                .cloned()
                .collect();
            if let Some((search, caller)) = search_tools(self) {
                let (search, caller) = (Arc::new(search), Arc::new(caller));
                view.finders = Some((search.clone(), caller.clone()));
                tools.extend([search as Arc<dyn Tool>, caller]);
            }
            for tool in tools {
                view.by_name
                    .insert(tool.name().to_owned(), view.tools.len());
                view.tools.push(tool);
            }
            ToolSet(Arc::new(view))
        });
        view.clone()
    }

    /// Which of the [`visible`](ToolSet::visible) tools may be called where only these tools may be.
    pub(crate) fn visible_among(&self, only: &[String]) -> Vec<String> {
        let view = self.visible();
        let finders = view.0.finders.as_ref().filter(|_| {
            let mut deferred = self.deferred();
            deferred.any(|tool| only.iter().any(|name| name == tool.name()))
        });
        let seen = only.iter().filter(|name| view.get(name).is_some());
        let mut seen: Vec<String> = seen.cloned().collect();
        seen.extend(
            finders
                .into_iter()
                .flat_map(|(search, caller)| [search.name().to_owned(), caller.name().to_owned()]),
        );
        seen
    }

    /// The tool of this name, as [`find`](ToolSet::find) gives it; one that searches finds only these.
    pub(crate) fn find_among(&self, name: &str, only: Option<&[String]>) -> Option<Arc<dyn Tool>> {
        let found = self.find(name)?;
        let (Some(only), None) = (only, self.get(name)) else {
            return Some(found);
        };
        match &self.visible().0.finders {
            Some((search, _)) if search.name() == name => Some(Arc::new(search.among(only))),
            _ => Some(found),
        }
    }

    /// The tool of this name, deferred or not, or one of those that search for them.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        match self.get(name) {
            Some(tool) => Some(tool.clone()),
            None if self.0.has_deferred => self.visible().get(name).cloned(),
            None => None,
        }
    }

    /// The call that is meant by one of the tool that calls found tools.
    pub(crate) fn meant(&self, call: &ToolCall) -> Option<ToolCall> {
        if !self.0.has_deferred || self.get(&call.name).is_some() {
            return None;
        }
        let view = self.visible();
        let (_, caller) = view.0.finders.as_ref()?;
        match caller.name() == call.name {
            true => caller.meant(call),
            false => None,
        }
    }

    /// The same tools, all deferred.
    #[must_use]
    pub fn all_deferred(&self) -> ToolSet {
        let tools = self
            .iter()
            .cloned()
            .map(|tool| Arc::new(tool.deferred()) as Arc<dyn Tool>);
        // The names are those of this set, which has each once.
        let mut set = Inner::default();
        for tool in tools {
            set.by_name.insert(tool.name().to_owned(), set.tools.len());
            set.tools.push(tool);
        }
        set.has_deferred = !set.tools.is_empty();
        ToolSet(Arc::new(set))
    }

    /// What a protocol makes of the set, made once. `key` tells protocols and dialects apart.
    ///
    /// # Errors
    ///
    /// What `render` reports: a tool that the protocol cannot express.
    pub fn render<E>(
        &self,
        key: u64,
        render: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Bytes, E> {
        let mut slot = self
            .0
            .rendered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((kept, bytes)) if *kept == key => Ok(bytes.clone()),
            _ => {
                let bytes = Bytes::from(render()?);
                *slot = Some((key, bytes.clone()));
                Ok(bytes)
            }
        }
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Tools that cannot be in one set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSetError {
    kind: ToolSetErrorKind,
    name: String,
}

/// The kinds of [`ToolSetError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolSetErrorKind {
    /// Two tools have the same name, so that a model could not tell them apart.
    DuplicateName,
    /// A name that not every provider accepts.
    Name,
}

impl ToolSetError {
    /// What is wrong.
    pub fn kind(&self) -> ToolSetErrorKind {
        self.kind
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ToolSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.kind {
            ToolSetErrorKind::DuplicateName => write!(
                f,
                "two tools are called `{name}`; give one another name with `#[tool(name = \"…\")]`"
            ),
            ToolSetErrorKind::Name => write!(
                f,
                "a tool is called `{name}`, which providers refuse: a name is a letter or `_`, then up to 63 letters, \
                 digits, `_` and `-`, all ASCII"
            ),
        }
    }
}

impl std::error::Error for ToolSetError {}

/// The rule that OpenAI, Anthropic and Gemini share: `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
fn is_portable(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let follows =
        |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    starts && name.len() <= 64 && name.chars().all(follows)
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

/// Whether the name is known and among the others.
pub const fn is_among(name: Option<&str>, others: &[Option<&str>]) -> bool {
    let mut index = 0;
    while index < others.len() {
        if let (Some(name), Some(other)) = (name, others[index])
            && is_equal(name.as_bytes(), other.as_bytes())
        {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    index == left.len() && index == right.len()
}
