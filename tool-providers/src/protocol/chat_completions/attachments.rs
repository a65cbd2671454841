//! Images and files to the parts of a user message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tool_core::{Attachment, AttachmentSource, ModelError, ModelErrorKind};

use super::super::json;
use super::Dialect;

/// Appends the part of an attachment.
pub(super) fn part(
    dialect: &Dialect,
    attachment: &Attachment,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    let kind = attachment.media_type.as_str();
    match &attachment.source {
        _ if attachment.is_image() && dialect.images => {
            json::part(out, "image_url");
            out.extend_from_slice(b"{\"url\":");
            url(out, attachment);
            out.extend_from_slice(b"}}");
        }
        AttachmentSource::Base64(data) if kind.starts_with("audio/") && dialect.files => {
            let format = match &kind["audio/".len()..] {
                "wav" | "x-wav" | "wave" | "vnd.wave" => "wav",
                "mpeg" | "mp3" => "mp3",
                _ => return Err(unknown(kind)),
            };
            json::part(out, "input_audio");
            out.extend_from_slice(b"{\"data\":");
            json::value(out, data);
            out.extend_from_slice(b",\"format\":");
            json::value(out, format);
            out.extend_from_slice(b"}}");
        }
        AttachmentSource::Base64(_) if kind == "application/pdf" && dialect.files => {
            json::part(out, "file");
            out.extend_from_slice(b"{\"filename\":");
            json::value(out, attachment.name.as_deref().unwrap_or("file.pdf"));
            out.extend_from_slice(b",\"file_data\":");
            url(out, attachment);
            out.extend_from_slice(b"}}");
        }
        AttachmentSource::Base64(data) if is_text(kind) => {
            let text = BASE64_STANDARD.decode(data).ok();
            let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
            let text = text.ok_or_else(|| unknown("text that is not UTF-8"))?;
            json::part(out, "text");
            match &attachment.name {
                Some(name) => json::value(out, &format!("{name}:\n{text}")),
                None => json::value(out, &text),
            }
            out.push(b'}');
        }
        AttachmentSource::Url(_) => return Err(unknown(&format!("a URL of type {kind}"))),
        AttachmentSource::Base64(_) => return Err(unknown(kind)),
    }
    Ok(())
}

/// The URL of an attachment; base64 needs no escapes and is copied as it is.
fn url(out: &mut Vec<u8>, attachment: &Attachment) {
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    match &attachment.source {
        AttachmentSource::Base64(data) if data.as_bytes().iter().all(safe) => {
            json::value(out, &format!("data:{};base64,", attachment.media_type));
            out.pop();
            out.extend_from_slice(data.as_bytes());
            out.push(b'"');
        }
        _ => json::value(out, &attachment.to_url()),
    }
}

/// Whether it can be sent as words, which every host reads.
fn is_text(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default();
    kind.starts_with("text/")
        || matches!(
            kind,
            "application/json" | "application/xml" | "application/yaml"
        )
}

fn unknown(what: &str) -> ModelError {
    let text = format!("an attachment cannot be sent to this provider: {what}");
    ModelError::new(ModelErrorKind::BadRequest, text)
}
