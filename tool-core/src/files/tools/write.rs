//! `write_file` and `edit_file`.

use bytes::Bytes;
use tool_macros::tool;

use super::Files;
use crate::files::FilePath;
use crate::{ToolCall, ToolError};

/// Longest file, in bytes, that can be edited.
const LONGEST: u64 = 16 << 20;

pub(super) struct WriteFile {
    pub(super) files: Files,
}

#[tool(crate = crate, spill_to_file = false)]
impl WriteFile {
    /// Writes a file whole: a new one, or in place of one that was read before.
    async fn execute(
        &self,
        /// Path of the file; folders in it need not be there.
        path: String,
        /// All of the new content.
        content: String,
        tool_call: &ToolCall,
    ) -> Result<String, ToolError> {
        let path = FilePath::new(path)?;
        let _writing = self.files.writing().await;
        let store = self.files.store();
        let was_there = store.size(&path).await?.is_some();
        if was_there && !self.files.has_seen(tool_call, &path) {
            return Err(unread(&path));
        }
        let size = content.len();
        store.write(&path, Bytes::from(content)).await?;
        self.files.saw(tool_call, &path);
        let what = if was_there { "Overwrote" } else { "Wrote" };
        Ok(format!("{what} `{path}`: {size} bytes."))
    }
}

pub(super) struct EditFile {
    pub(super) files: Files,
}

#[tool(crate = crate, spill_to_file = false)]
impl EditFile {
    /// Replaces one piece of text in a file that was read before.
    async fn execute(
        &self,
        /// Path of the file.
        path: String,
        /// The text to replace, exactly as it is in the file. It must occur once: take in as much
        /// around it as makes it unique.
        #[param(length = 1..)]
        old_text: String,
        /// The text to put in its place.
        new_text: String,
        tool_call: &ToolCall,
    ) -> Result<String, ToolError> {
        let path = FilePath::new(path)?;
        let _writing = self.files.writing().await;
        let store = self.files.store();
        if store.size(&path).await?.is_some_and(|size| size > LONGEST) {
            return Err(ToolError::new(format!(
                "`{path}` is longer than {LONGEST} bytes, so that it cannot be edited."
            )));
        }
        let content = store.read(&path).await?;
        if !self.files.has_seen(tool_call, &path) {
            return Err(unread(&path));
        }
        let text = std::str::from_utf8(&content).map_err(|error| {
            ToolError::new(format!(
                "`{path}` is not text, so that it cannot be edited."
            ))
            .with_source(error)
        })?;
        let Some(at) = text.find(&old_text) else {
            return Err(ToolError::new(format!(
                "`old_text` is not in `{path}`. Read the file and copy the text exactly."
            )));
        };
        if text.rfind(&old_text) != Some(at) {
            return Err(ToolError::new(format!(
                "`old_text` is in `{path}` more than once. Take in more of what is around it."
            )));
        }
        let edited = [&text[..at], &new_text, &text[at + old_text.len()..]].concat();
        store.write(&path, Bytes::from(edited)).await?;
        Ok(format!("Edited `{path}`."))
    }
}

fn unread(path: &FilePath) -> ToolError {
    ToolError::new(format!(
        "`{path}` is there already and was not read in this chat. Nothing was changed. Read it first, then write."
    ))
}
