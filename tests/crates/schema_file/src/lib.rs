//! M5: a schema in a file.

use tool_core::tool;

/// Searches.
#[tool(schema = "schemas/search.json")]
pub fn search(query: String, limit: Option<u32>) -> String {
    format!("{query} {limit:?}")
}
