//! What a client is told of a tool, and of a result.

use rmcp::model::{
    CallToolResult, ContentBlock, ResourceContents, Tool as Declared, ToolAnnotations,
};
use serde_json::{Map, Value};
use tool_core::{Attachment, AttachmentSource, Tool, ToolResult};

/// The protocol's name in `provider_options`.
const PROTOCOL: &str = "mcp";

/// A tool's declaration.
pub(super) fn of(tool: &dyn Tool) -> Declared {
    let definition = tool.definition();
    let schema = definition.schema().as_value().as_object();
    let mut declared = Declared::new(
        tool.name().to_owned(),
        definition.description().to_owned(),
        schema.cloned().unwrap_or_default(),
    );
    if definition.requires_approval() {
        declared = declared.with_annotations(ToolAnnotations::new().destructive(true));
    }
    let options: Map<String, Value> = definition
        .provider_options(PROTOCOL)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if options.is_empty() {
        return declared;
    }
    let mut whole = serde_json::to_value(&declared).unwrap_or_default();
    if let Value::Object(whole) = &mut whole {
        whole.extend(options);
    }
    // Options that are no part of a declaration change nothing.
    serde_json::from_value(whole).unwrap_or(declared)
}

/// A result as the protocol has it. One that is a JSON object is structured content too.
pub(super) fn result(result: &ToolResult) -> CallToolResult {
    let mut content = vec![ContentBlock::text(result.text.clone())];
    content.extend(result.attachments.iter().map(block));
    if result.is_error() {
        return CallToolResult::error(content);
    }
    let mut given = CallToolResult::success(content);
    given.structured_content = match result.text.starts_with('{') {
        true => serde_json::from_str(&result.text).ok(),
        false => None,
    };
    given
}

fn block(attachment: &Attachment) -> ContentBlock {
    let kind = &attachment.media_type;
    let name = attachment.name.as_deref().unwrap_or("attachment");
    match &attachment.source {
        AttachmentSource::Base64(data) if attachment.is_image() => {
            ContentBlock::image(data.clone(), kind.clone())
        }
        AttachmentSource::Base64(data) if kind.starts_with("audio/") => {
            ContentBlock::audio(data.clone(), kind.clone())
        }
        AttachmentSource::Base64(data) => {
            let blob = ResourceContents::blob(data.clone(), format!("attachment:{name}"));
            ContentBlock::resource(blob.with_mime_type(kind.clone()))
        }
        AttachmentSource::Url(url) => {
            let link = rmcp::model::Resource::new(url.clone(), name.to_owned());
            ContentBlock::resource_link(link.with_mime_type(kind.clone()))
        }
    }
}
