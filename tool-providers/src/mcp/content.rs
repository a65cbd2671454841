//! What a server gives, as a result.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;
use tool_core::{Attachment, AttachmentSource, ToolError, ToolOutput};

/// The result of a call, or what the server says went wrong.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut texts: Vec<String> = Vec::new();
    let mut attachments = Vec::new();
    let mut attach =
        |kind: String, data: &str, name: Option<&str>| match attachment(kind, data, name) {
            Ok(attachment) => {
                attachments.push(attachment);
                None
            }
            Err(note) => Some(note),
        };
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => texts.extend(attach(image.mime_type, &image.data, None)),
            ContentBlock::Audio(audio) => texts.extend(attach(audio.mime_type, &audio.data, None)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    texts.push(format!("[{uri}]\n{text}"));
                }
                ResourceContents::BlobResourceContents {
                    uri,
                    mime_type,
                    blob,
                    ..
                } => {
                    let kind = mime_type.unwrap_or_else(|| "application/octet-stream".into());
                    texts.extend(attach(kind, &blob, Some(file_name(&uri))));
                }
                _ => {}
            },
            ContentBlock::ResourceLink(link) => {
                let description = link.description.map(|text| format!(": {text}"));
                let description = description.unwrap_or_default();
                texts.push(format!("[{}]({}){description}", link.name, link.uri));
            }
            other => texts.push(serde_json::to_string(&other).unwrap_or_default()),
        }
    }
    if let Some(structured) = result.structured_content
        && !texts.iter().any(|text| says(text, &structured))
    {
        texts.push(structured.to_string());
    }
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        return Err(ToolError::new(text));
    }
    let output = ToolOutput::text(text);
    Ok(attachments
        .into_iter()
        .fold(output, ToolOutput::with_attachment))
}

/// Whether a text is this value as JSON, as servers send it for clients that know no structure.
fn says(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
}

/// An attachment; or what the model is told in place of one that would make every later request fail: data
/// that is not base64, a type that no model reads.
fn attachment(media_type: String, data: &str, name: Option<&str>) -> Result<Attachment, String> {
    let what = name.map_or_else(|| "an attachment".to_owned(), |name| format!("`{name}`"));
    let out = |why: &str| Err(format!("[{what} of type {media_type} is left out: {why}]"));
    let Some(bytes) = decoded(data) else {
        return out("its data is not base64");
    };
    if !is_text(&media_type) && !is_seen_or_heard(&media_type) {
        let length = bytes.len();
        return out(&format!("no model reads its {length} bytes"));
    }
    if is_text(&media_type) && std::str::from_utf8(&bytes).is_err() {
        return out("it is not UTF-8");
    }
    let attachment = Attachment {
        media_type,
        name: None,
        source: AttachmentSource::Base64(BASE64_STANDARD.encode(bytes)),
    };
    Ok(match name {
        Some(name) => attachment.named(name),
        None => attachment,
    })
}

/// Base64 in either alphabet, padded or not, in one line or several.
fn decoded(data: &str) -> Option<Vec<u8>> {
    let data: String = data.split_ascii_whitespace().collect();
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let mut alphabets = [STANDARD, URL_SAFE].into_iter();
    alphabets.find_map(|alphabet| GeneralPurpose::new(&alphabet, lenient).decode(&data).ok())
}

/// Whether there are models that see or hear files of this type.
fn is_seen_or_heard(media_type: &str) -> bool {
    let starts = ["image/", "audio/", "video/", "application/pdf"];
    starts.iter().any(|start| media_type.starts_with(start))
}

fn is_text(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default();
    let kinds = ["application/json", "application/xml", "application/yaml"];
    kind.starts_with("text/") || kinds.contains(&kind)
}

fn file_name(uri: &str) -> &str {
    let path = uri.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}
