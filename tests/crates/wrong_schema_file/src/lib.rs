//! M5: schemas in files, each with a mistake.

use tool_core::tool;

/// The file does not agree with the signature.
#[tool(schema = "schemas/search.json")]
pub fn search(query: String, limit: Option<u32>) -> String {
    format!("{query} {limit:?}")
}

/// The file is not JSON.
#[tool(schema = "schemas/broken.json")]
pub fn broken() {}
