//! The tools of a set to bytes.

use bytes::Bytes;
use tool_core::model::Request;
use tool_core::{ModelError, Tool};

use super::super::tools::{Declarations, not_strict};
use super::super::{json, ollama, schema};
use super::{ChatCompletions, Dialect, NAME};

/// `{"tools":[…`, the start of a body; `None` where no tool is declared.
pub(super) fn block(
    protocol: &ChatCompletions,
    request: &Request<'_>,
) -> Result<Option<Bytes>, ModelError> {
    let dialect = protocol.dialect();
    Declarations {
        open: b"{\"tools\":[",
        key: protocol.key,
        protocol: NAME,
        is_told: dialect.tool_choice && (dialect.allowed_tools || request.allowed.is_none()),
        declare: &|out, tool| declare(out, tool, dialect),
        close: &|_| {},
    }
    .block(request)
}

fn declare(out: &mut Vec<u8>, tool: &dyn Tool, dialect: &Dialect) -> Result<(), ModelError> {
    let definition = tool.definition();
    out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
    json::value(out, tool.name());
    if !definition.description().is_empty() {
        json::member(out, "description", definition.description());
    }
    out.extend_from_slice(b",\"parameters\":");
    if dialect.strict && definition.strict() == Some(true) {
        let lowered = schema::strict(definition.schema().as_value())
            .map_err(|fault| not_strict(tool, fault))?;
        json::value(out, &lowered);
        out.extend_from_slice(b",\"strict\":true");
    } else if dialect.plain_schemas {
        json::value(out, &ollama::parameters(definition.schema().as_value()));
    } else {
        out.extend_from_slice(definition.schema().as_json());
    }
    out.extend_from_slice(b"}}");
    Ok(())
}
