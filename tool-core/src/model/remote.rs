//! MCP servers that a provider calls by itself.

use std::fmt;

/// An MCP server that the provider connects to, and whose tools it runs itself.
///
/// Unless it is said otherwise each call waits for a decision: it is in
/// [`pending_approvals`](crate::Chat::pending_approvals) with the label of the server. OpenAI's Responses
/// can ask for decisions; Anthropic and Gemini cannot, so that with them a server is refused unless it
/// is set up [`without_approval`](RemoteMcp::without_approval).
///
/// ```
/// use tool_core::RequestOptions;
/// use tool_core::model::RemoteMcp;
///
/// let server = RemoteMcp::new("links", "https://links.example.com/mcp").allowed_tools(["shorten"]);
/// let options = RequestOptions::new().remote_mcp(server);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteMcp {
    /// Under which name the model and its users know it.
    pub label: String,
    /// Where it is.
    pub url: String,
    /// What it is for.
    pub description: Option<String>,
    /// The tools that the model may use; `None`: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Which calls wait for a decision.
    pub approval: RemoteApproval,
    /// Whether its tools stay out of the model's context until they are searched for.
    pub deferred: bool,
    authorization: Option<String>,
    headers: Vec<(String, String)>,
}

/// Which calls of a [`RemoteMcp`] wait for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteApproval {
    /// All.
    #[default]
    Always,
    /// None.
    Never,
    /// All but those of these tools.
    Except(Vec<String>),
}

impl RemoteMcp {
    /// A server, each of whose calls waits for a decision.
    pub fn new(label: impl Into<String>, url: impl Into<String>) -> Self {
        RemoteMcp {
            label: label.into(),
            url: url.into(),
            description: None,
            allowed_tools: None,
            approval: RemoteApproval::Always,
            deferred: false,
            authorization: None,
            headers: Vec::new(),
        }
    }

    /// Says what it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the OAuth token that the provider shows to the server. It is sent with every request, and
    /// never shown.
    #[must_use]
    pub fn authorization(mut self, token: impl Into<String>) -> Self {
        self.authorization = Some(token.into());
        self
    }

    /// Adds a header that the provider sends to the server. Its value is never shown.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Lets the model use these tools of the server only.
    #[must_use]
    pub fn allowed_tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.allowed_tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Lets the provider run all calls without a decision.
    #[must_use]
    pub fn without_approval(mut self) -> Self {
        self.approval = RemoteApproval::Never;
        self
    }

    /// Lets the provider run calls of these tools without a decision.
    #[must_use]
    pub fn without_approval_of<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        self.approval = RemoteApproval::Except(names.into_iter().map(Into::into).collect());
        self
    }

    /// Keeps its tools out of the model's context until they are searched for, where the provider can.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.deferred = true;
        self
    }

    /// The OAuth token, for the one place that sends it.
    pub fn token(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// The headers, for the one place that sends them.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}

impl fmt::Debug for RemoteMcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query of an address may hold a key, and a password may stand before its host.
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        let start = url.find("://").map_or(0, |at| at + "://".len());
        let end = url[start..].find('/').map_or(url.len(), |at| start + at);
        let host = url[start..end]
            .rfind('@')
            .map_or(start, |at| start + at + 1);
        let url = format!("{}{}", &url[..start], &url[host..]);
        f.debug_struct("RemoteMcp")
            .field("label", &self.label)
            .field("url", &url)
            .field("approval", &self.approval)
            .finish_non_exhaustive()
    }
}
