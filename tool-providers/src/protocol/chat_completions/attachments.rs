//! Images and files to the parts of a user message.

use tool_core::{Attachment, AttachmentSource, ModelError};

use super::super::attachment::{Kind, base64, kind, unsupported, url};
use super::super::json;
use super::Dialect;

/// Appends the part of an attachment.
pub(super) fn part(
    dialect: &Dialect,
    attachment: &Attachment,
    out: &mut Vec<u8>,
) -> Result<(), ModelError> {
    match (kind(attachment)?, &attachment.source) {
        (Kind::Image, _) if dialect.images => {
            json::part(out, "image_url");
            out.extend_from_slice(b"{\"url\":");
            url(out, attachment);
            out.extend_from_slice(b"}}");
        }
        (Kind::Pdf, AttachmentSource::Base64(_)) if dialect.files => {
            json::part(out, "file");
            out.extend_from_slice(b"{\"filename\":");
            json::value(out, attachment.name.as_deref().unwrap_or("file.pdf"));
            out.extend_from_slice(b",\"file_data\":");
            url(out, attachment);
            out.extend_from_slice(b"}}");
        }
        (Kind::Text(text), _) => {
            json::part(out, "text");
            json::value(out, &text);
            out.push(b'}');
        }
        (Kind::Other(kind), AttachmentSource::Base64(data))
            if kind.starts_with("audio/") && dialect.files =>
        {
            let format = match &kind["audio/".len()..] {
                "wav" | "x-wav" | "wave" | "vnd.wave" => "wav",
                "mpeg" | "mp3" => "mp3",
                _ => return Err(unsupported(kind)),
            };
            json::part(out, "input_audio");
            out.extend_from_slice(b"{\"data\":");
            base64(out, data);
            json::member(out, "format", format);
            out.extend_from_slice(b"}}");
        }
        (_, AttachmentSource::Url(_)) => {
            return Err(unsupported(&format!(
                "a URL of type {}",
                attachment.media_type
            )));
        }
        _ => return Err(unsupported(&attachment.media_type)),
    }
    Ok(())
}
