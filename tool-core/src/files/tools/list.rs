//! `list_files`.

use std::fmt::Write;

use tool_macros::tool;

use super::Files;
use crate::ToolError;
use crate::files::FilePath;

/// How many files a page has.
const PAGE: usize = 200;

pub(super) struct ListFiles {
    pub(super) files: Files,
}

#[tool(crate = crate, spill_to_file = false)]
impl ListFiles {
    /// Lists the files that are there, with their sizes, a page at a time.
    async fn execute(
        &self,
        /// Only files in this folder and below it.
        folder: Option<String>,
        /// How many files to skip, to get the next page.
        #[param(default = 0)]
        offset: usize,
    ) -> Result<String, ToolError> {
        let folder = match folder.as_deref().map(|folder| folder.trim_end_matches('/')) {
            None | Some("" | ".") => None,
            Some(folder) => Some(FilePath::new(folder)?),
        };
        let mut entries = self.files.store().list().await?;
        if let Some(folder) = &folder {
            entries.retain(|entry| entry.path.is_in(folder));
        }
        if entries.is_empty() {
            return Ok("There are no files.".into());
        }
        let page = entries.iter().skip(offset).take(PAGE);
        let next = offset.saturating_add(page.len());
        let mut text = format!("{} of {} files", page.len(), entries.len());
        if next < entries.len() {
            let _ = write!(text, "; for more, list with offset={next}");
        }
        text.push_str(":\n");
        for entry in page {
            let _ = writeln!(text, "{} ({} bytes)", entry.path, entry.size);
        }
        Ok(text)
    }
}
