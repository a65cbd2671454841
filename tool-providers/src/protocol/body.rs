//! The body of a request, member by member.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use tool_core::ModelError;
use tool_core::model::Request;

use super::json;

/// The start of a body: the tools, which are the same in every request, come first.
pub(super) struct Body<'a> {
    pieces: Vec<Bytes>,
    out: Vec<u8>,
    /// The user's own members, which replace ours.
    extra: &'a Map<String, Value>,
    empty: bool,
}

impl<'a> Body<'a> {
    /// A body that begins with `{"tools":[…`, without the end of the array, and the declarations of tools
    /// that the provider runs itself.
    pub(super) fn new(
        request: &Request<'a>,
        protocol: &str,
        tools: Option<Bytes>,
        remote: Vec<Value>,
    ) -> Self {
        let mut body = Body {
            pieces: Vec::with_capacity(6),
            out: Vec::with_capacity(256),
            extra: &request.options.extra,
            empty: true,
        };
        let hosted = request
            .options
            .hosted_tools
            .iter()
            .filter(|hosted| hosted.protocol == protocol);
        let hosted: Vec<&Value> = hosted.map(|hosted| &hosted.declaration).collect();
        let others: Vec<&Value> = remote.iter().chain(hosted).collect();
        if !body.is_ours("tools") || (tools.is_none() && others.is_empty()) {
            return body;
        }
        body.empty = false;
        let mut separate = match tools {
            Some(block) => {
                body.pieces.push(block);
                true
            }
            None => {
                body.out.extend_from_slice(b"{\"tools\":[");
                false
            }
        };
        for other in others {
            if separate {
                body.out.push(b',');
            }
            separate = true;
            json::value(&mut body.out, other);
        }
        body.out.push(b']');
        body
    }

    /// Whether tools are declared by us.
    pub(super) fn has_tools(&self) -> bool {
        !self.empty
    }

    /// Whether the user has not set this member.
    pub(super) fn is_ours(&self, key: &str) -> bool {
        !self.extra.contains_key(key)
    }

    /// What the user has set for this member.
    pub(super) fn extra(&self, key: &str) -> Option<&'a Value> {
        self.extra.get(key)
    }

    /// Writes a member, unless the user has set it.
    pub(super) fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        if self.is_ours(key) {
            json::value(self.key(key), value);
        }
    }

    /// Writes a key; its value is still to come.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        self.out.push(if self.empty { b'{' } else { b',' });
        self.empty = false;
        json::key(&mut self.out, key);
        &mut self.out
    }

    /// Writes the user's members but for those in `but`.
    pub(super) fn extras(&mut self, but: &[&str]) {
        for (key, value) in self.extra {
            if !but.contains(&key.as_str()) {
                json::value(self.key(key), value);
            }
        }
    }

    /// The body, at whose end are the messages: `pieces` between brackets under `key`, unless the user has
    /// set that.
    pub(super) fn finish(
        mut self,
        key: &str,
        messages: impl FnOnce() -> Result<Vec<Bytes>, ModelError>,
    ) -> Result<Vec<Bytes>, ModelError> {
        if !self.is_ours(key) {
            self.out.push(b'}');
            self.pieces.push(self.out.into());
            return Ok(self.pieces);
        }
        self.key(key).push(b'[');
        self.pieces.push(self.out.into());
        self.pieces.extend(messages()?);
        self.pieces.push(Bytes::from_static(b"]}"));
        Ok(self.pieces)
    }
}
