//! Images and files that travel with text.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

/// An image or a file that a tool returns or a user sends.
///
/// It is stored as part of a message. By itself it cannot be serialized, so that a tool never sends
/// one to the model as JSON by mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The MIME type, such as `image/png`.
    pub media_type: String,
    /// A file name, where there is one.
    pub name: Option<String>,
    /// Where the bytes are.
    pub source: AttachmentSource,
}

/// Where the bytes of an [`Attachment`] are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentSource {
    /// Here, in base64.
    Base64(String),
    /// At an address that the provider can reach.
    Url(String),
}

impl Attachment {
    /// An attachment of these bytes.
    pub fn from_bytes(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        Attachment {
            media_type: media_type.into(),
            name: None,
            source: AttachmentSource::Base64(BASE64_STANDARD.encode(bytes)),
        }
    }

    /// An attachment that the provider fetches from `url`.
    pub fn from_url(media_type: impl Into<String>, url: impl Into<String>) -> Self {
        Attachment {
            media_type: media_type.into(),
            name: None,
            source: AttachmentSource::Url(url.into()),
        }
    }

    /// The same attachment with a file name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Attachment {
            name: Some(name.into()),
            ..self
        }
    }

    /// Whether it is an image.
    pub fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    /// Where the bytes are, as a URL: the address, or a `data:` URL.
    pub fn to_url(&self) -> String {
        match &self.source {
            AttachmentSource::Url(url) => url.clone(),
            AttachmentSource::Base64(data) => format!("data:{};base64,{data}", self.media_type),
        }
    }
}

/// How a message stores its attachments.
pub(crate) mod stored {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Attachment, AttachmentSource};

    #[derive(Serialize, Deserialize)]
    struct Stored<'a> {
        media_type: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
        source: Cow<'a, AttachmentSource>,
    }

    pub(crate) fn serialize<S: Serializer>(
        attachments: &[Attachment],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(attachments.iter().map(|attachment| Stored {
            media_type: attachment.media_type.as_str().into(),
            name: attachment.name.as_deref().map(Into::into),
            source: Cow::Borrowed(&attachment.source),
        }))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Attachment>, D::Error> {
        let stored = Vec::<Stored<'static>>::deserialize(deserializer)?;
        let attachments = stored.into_iter().map(|stored| Attachment {
            media_type: stored.media_type.into_owned(),
            name: stored.name.map(Cow::into_owned),
            source: stored.source.into_owned(),
        });
        Ok(attachments.collect())
    }
}
