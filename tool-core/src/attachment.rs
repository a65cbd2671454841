//! Images and files that travel with text.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

/// An image or a file that a tool returns or a user sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The MIME type, such as `image/png`.
    pub media_type: String,
    /// A file name, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
