//! What all protocols do alike with images and files.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tool_core::{Attachment, AttachmentSource, ModelError, ModelErrorKind};

use super::json;

/// What an attachment is to a provider.
pub(super) enum Kind<'a> {
    /// An image.
    Image,
    /// A PDF.
    Pdf,
    /// Words, which every provider reads.
    Text(String),
    /// Something else, of this type.
    Other(&'a str),
}

/// Tells what an attachment is. Text that is here is decoded.
pub(super) fn kind(attachment: &Attachment) -> Result<Kind<'_>, ModelError> {
    let media_type = attachment.media_type.as_str();
    match &attachment.source {
        _ if attachment.is_image() => Ok(Kind::Image),
        _ if media_type == "application/pdf" => Ok(Kind::Pdf),
        AttachmentSource::Base64(data) if is_text(media_type) => {
            let text = BASE64_STANDARD.decode(data).ok();
            let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
            let text = text.ok_or_else(|| unsupported("text that is not UTF-8"))?;
            Ok(Kind::Text(match &attachment.name {
                Some(name) => format!("{name}:\n{text}"),
                None => text,
            }))
        }
        _ => Ok(Kind::Other(media_type)),
    }
}

/// Appends the URL of an attachment; base64 needs no escapes and is copied as it is.
pub(super) fn url(out: &mut Vec<u8>, attachment: &Attachment) {
    match &attachment.source {
        AttachmentSource::Base64(data) if is_safe(data) => {
            json::value(out, &format!("data:{};base64,", attachment.media_type));
            out.pop();
            out.extend_from_slice(data.as_bytes());
            out.push(b'"');
        }
        _ => json::value(out, &attachment.to_url()),
    }
}

/// Appends base64 as a JSON string.
pub(super) fn base64(out: &mut Vec<u8>, data: &str) {
    if is_safe(data) {
        out.push(b'"');
        out.extend_from_slice(data.as_bytes());
        out.push(b'"');
    } else {
        json::value(out, data);
    }
}

/// Whether base64 can be copied into a JSON string.
fn is_safe(data: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    data.bytes().all(safe)
}

/// Whether it can be sent as words.
fn is_text(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default();
    kind.starts_with("text/")
        || matches!(
            kind,
            "application/json" | "application/xml" | "application/yaml"
        )
}

/// An attachment that a provider does not take.
pub(super) fn unsupported(what: &str) -> ModelError {
    let text = format!("an attachment cannot be sent to this provider: {what}");
    ModelError::new(ModelErrorKind::UnsupportedAttachment, text)
}
