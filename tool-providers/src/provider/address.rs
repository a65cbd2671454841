//! Where a server is.

use hyper::Uri;
use tool_core::{ModelError, ModelErrorKind};

/// The address of a server's API, up to the version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme and authority.
    server: String,
    /// Without a slash at its end.
    path: String,
    /// With its question mark.
    query: String,
}

impl Address {
    /// Reads an address with or without scheme, path and slash at the end. `path` is the path where
    /// it has none.
    pub(crate) fn parse(text: &str, path: &str) -> Result<Self, ModelError> {
        let text = text.trim();
        let bad = |why: &str| {
            let text = format!("the address of the provider {why}");
            ModelError::new(ModelErrorKind::Configuration, text)
        };
        let with_scheme = match text.contains("://") {
            true => text.to_owned(),
            false => format!("http://{text}"),
        };
        if authority(&with_scheme).contains('@') {
            return Err(bad("must not hold a user or a password; set a key instead"));
        }
        let uri: Uri = with_scheme
            .parse()
            .map_err(|error| bad(&format!("cannot be read: {error}")))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            let scheme = uri.scheme_str().unwrap_or_default();
            return Err(bad(&format!(
                "must begin with http:// or https://, not with {scheme}://"
            )));
        };
        let given = uri.path().trim_end_matches('/');
        let resources = ["/chat/completions", "/responses", "/messages"];
        let given = resources
            .iter()
            .find_map(|resource| given.strip_suffix(resource))
            .unwrap_or(given);
        Ok(Address {
            server: format!("{scheme}://{authority}"),
            path: if given.is_empty() { path } else { given }.to_owned(),
            query: uri
                .query()
                .map(|query| format!("?{query}"))
                .unwrap_or_default(),
        })
    }

    /// Scheme and authority.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The URL of a resource, such as `/models`.
    pub(crate) fn at(&self, resource: &str) -> Result<Uri, ModelError> {
        let query = match resource.contains('?') {
            true => self.query.replacen('?', "&", 1),
            false => self.query.clone(),
        };
        let text = format!("{}{}{resource}{query}", self.server, self.path);
        text.parse().map_err(|error| {
            let text = format!("`{self}` is not an address");
            ModelError::new(ModelErrorKind::Configuration, text).with_source(error)
        })
    }
}

/// Without the query, which may hold a key.
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.server, self.path)
    }
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}
