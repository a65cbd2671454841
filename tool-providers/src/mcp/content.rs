//! What a server gives, as a result.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;
use tool_core::{Attachment, AttachmentSource, ToolError, ToolOutput};

/// The result of a call, or what the server says went wrong.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut texts: Vec<String> = Vec::new();
    let mut attachments = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => attachments.push(attachment(image.mime_type, image.data)),
            ContentBlock::Audio(audio) => attachments.push(attachment(audio.mime_type, audio.data)),
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
                    attachments.push(attachment(kind, blob).named(file_name(&uri)));
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

fn attachment(media_type: String, base64: String) -> Attachment {
    Attachment {
        media_type,
        name: None,
        source: AttachmentSource::Base64(base64),
    }
}

fn file_name(uri: &str) -> &str {
    let path = uri.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}
