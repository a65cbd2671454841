//! Keys, which are never shown.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tool_core::ModelError;
use tool_core::model::RemoteMcp;

/// What is shown in place of a key.
const HIDDEN: &str = "[key]";

/// Shorter keys are not looked for in messages: they would be found in ordinary words.
const SHORTEST: usize = 4;

/// A key. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret, without the white space around it.
    pub fn new(text: &str) -> Self {
        Secret(text.trim().into())
    }

    /// The key itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// What no text may show, each with its name.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<Hidden>);

#[derive(Clone)]
struct Hidden {
    /// What stands for it in a recording.
    mark: String,
    text: Secret,
    /// As it stands inside of a string of JSON, where that differs.
    escaped: Option<String>,
}

/// How an excerpt ends.
pub(crate) const CUT: char = '…';

/// How a mark begins and ends.
const MARK: (&str, char) = ("[hidden: ", ']');

impl Secrets {
    /// Adds a secret. Short ones are left out: they would be found in ordinary words.
    pub(crate) fn add(&mut self, name: &str, text: Secret) {
        if text.reveal().len() < SHORTEST {
            return;
        }
        let name = name.replace(['[', ']'], "");
        let quoted = Value::from(text.reveal()).to_string();
        let escaped = quoted[1..quoted.len() - 1].to_owned();
        self.0.push(Hidden {
            mark: format!("{}{name}{}", MARK.0, MARK.1),
            escaped: Some(escaped).filter(|escaped| escaped != text.reveal()),
            text,
        });
    }

    /// Adds the value of a header, and what follows the name of its scheme.
    pub(crate) fn add_header(&mut self, name: &str, value: &Secret) {
        self.add(&format!("header {name}"), value.clone());
        if let Some((_, rest)) = value.reveal().split_once(' ')
            && name.to_ascii_lowercase().ends_with("authorization")
        {
            self.add(&format!("credentials of {name}"), Secret::new(rest));
        }
    }

    /// Adds the values of the query of an address, any of which may be a key.
    pub(crate) fn add_query(&mut self, name: &str, address: &str) {
        let query = address.split_once('?').map_or("", |(_, query)| query);
        let values = query
            .split(['&', '#'])
            .filter_map(|pair| pair.split_once('='));
        for (key, value) in values {
            self.add(&format!("{key} of {name}"), Secret::new(value));
            let decoded = percent_decoded(value);
            if decoded != value {
                let name = format!("{key} of {name}, decoded");
                self.add(&name, Secret::new(&decoded));
            }
        }
    }

    /// Adds the password that stands before the host of an address, as it is written and as it is meant.
    pub(crate) fn add_login(&mut self, name: &str, address: &str) {
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let login = authority.rsplit_once('@').map(|(login, _)| login);
        if let Some((_, password)) = login.and_then(|login| login.split_once(':')) {
            self.add(&format!("password of {name}"), Secret::new(password));
            let decoded = percent_decoded(password);
            self.add(
                &format!("password of {name}, decoded"),
                Secret::new(&decoded),
            );
        }
    }

    /// These, and what a request carries for remote servers.
    pub(crate) fn with_remote(self: &Arc<Self>, servers: &[RemoteMcp]) -> Arc<Self> {
        if servers.is_empty() {
            return self.clone();
        }
        let mut secrets = Secrets::clone(self);
        for server in servers {
            let label = &server.label;
            if let Some(token) = server.token() {
                secrets.add(&format!("token of {label}"), token.into());
            }
            for (name, value) in server.headers() {
                secrets.add_header(&format!("{label} {name}"), &value.as_str().into());
            }
            secrets.add_query(label, &server.url);
            secrets.add_login(label, &server.url);
        }
        secrets.into()
    }

    /// The error without the secrets, where the provider's words, or what caused it, hold them.
    pub(crate) fn scrub(&self, error: ModelError) -> ModelError {
        let mut shown = format!("{error}{error:?}");
        let mut cause = error.source();
        while let Some(error) = cause {
            shown.push_str(&error.to_string());
            cause = error.source();
        }
        if self.find(&shown).is_none() && self.cut_off(error.message()).is_none() {
            return error;
        }
        let clean = |text: &str| {
            let clean = self.replaced(text, |_| HIDDEN);
            match self.cut_off(&clean) {
                Some(at) => format!("{}{HIDDEN}", &clean[..at]),
                None => clean,
            }
        };
        let mut scrubbed = ModelError::new(error.kind(), clean(error.message()))
            .with_request_id(error.request_id().map(clean))
            .with_retry_after(error.retry_after());
        if let Some(status) = error.status() {
            scrubbed = scrubbed.with_status(status);
        }
        scrubbed
    }

    /// The text with a mark in place of each secret.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.replaced(text, |hidden| &hidden.mark)
    }

    /// The text with the secrets in place of their marks, as far as they are known. `in_json`: the text
    /// is JSON.
    pub(crate) fn restore(&self, text: &str, in_json: bool) -> String {
        let mut restored = text.to_owned();
        for hidden in self.0.iter().filter(|_| text.contains(MARK.0)) {
            let escaped = hidden.escaped.as_deref().filter(|_| in_json);
            let secret = escaped.unwrap_or(hidden.text.reveal());
            restored = restored.replace(&hidden.mark, secret);
        }
        restored
    }

    /// The first of them in a text, and where it is. Of two at one place it is the longer one.
    fn find(&self, text: &str) -> Option<(usize, usize, &Hidden)> {
        let found = self.0.iter().flat_map(|hidden| {
            let forms = [Some(hidden.text.reveal()), hidden.escaped.as_deref()];
            let places = forms.into_iter().flatten();
            places.filter_map(move |form| Some((text.find(form)?, form.len(), hidden)))
        });
        found.min_by_key(|(at, length, _)| (*at, usize::MAX - length))
    }

    /// Where a text that was cut ends with the beginning of a secret.
    fn cut_off(&self, text: &str) -> Option<usize> {
        let text = text.strip_suffix(CUT).unwrap_or(text);
        let begins = |from: usize| {
            let rest = &text[from..];
            let mut secrets = self.0.iter();
            rest.len() >= SHORTEST && secrets.any(|hidden| hidden.text.reveal().starts_with(rest))
        };
        text.char_indices().map(|(at, _)| at).find(|at| begins(*at))
    }

    fn replaced<'a>(&'a self, text: &str, by: impl Fn(&'a Hidden) -> &'a str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((at, length, hidden)) = self.find(rest) {
            clean.push_str(&rest[..at]);
            clean.push_str(by(hidden));
            rest = &rest[at + length..];
        }
        clean.push_str(rest);
        clean
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets(…)")
    }
}

/// Whether a text is the one with marks, whatever they stand for.
pub(crate) fn is_hidden_form(marked: &str, text: &str) -> bool {
    let mut parts = marked.split(MARK.0);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        let literal = part.split_once(MARK.1).map_or("", |(_, literal)| literal);
        if parts.peek().is_none() {
            return rest.ends_with(literal);
        }
        match rest.find(literal) {
            Some(at) => rest = &rest[at + literal.len()..],
            None => return false,
        }
    }
    true
}

fn percent_decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret::new(&text)
    }
}
