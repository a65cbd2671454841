//! `list_files`.

use std::fmt::Write;

use tool_macros::tool;

use super::Files;
use crate::ToolError;
use crate::files::FilePath;

/// How many files a page has.
const PAGE: usize = 200;

/// After how many bytes a page ends, with fewer files on it.
const LONGEST: usize = 16_384;

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
        let rest = entries.get(offset..).unwrap_or_default();
        let mut lines = String::new();
        let mut count = 0;
        for entry in rest.iter().take(PAGE) {
            let _ = writeln!(lines, "{} ({} bytes)", entry.path, entry.size);
            count += 1;
            if lines.len() > LONGEST {
                break;
            }
        }
        let mut text = format!("{count} of {} files", entries.len());
        if count < rest.len() {
            let _ = write!(text, "; for more, list with offset={}", offset + count);
        }
        let _ = write!(text, ":\n{lines}");
        Ok(text)
    }
}
