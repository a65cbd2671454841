//! `read_file`.

use tool_macros::tool;

use super::{Files, has};
use crate::files::{FileError, FilePath, FileStore};
use crate::{Named, ToolCall, ToolDefinition, ToolError};

/// How many bytes a page has at most.
const PAGE: u64 = 16_384;

/// How many bytes are looked at at a time in search of a line.
const STRIDE: u64 = 1 << 20;

pub(super) const NAME: &str = ReadFile::NAME;

pub(super) struct ReadFile {
    pub(super) files: Files,
}

pub(super) fn is_definition(definition: &ToolDefinition) -> bool {
    definition.name() == NAME && has(definition, "byte_offset")
}

#[tool(crate = crate, spill_to_file = false)]
impl ReadFile {
    /// Reads a page of a file: by lines with `offset` and `limit`, or by bytes with `byte_offset` and
    /// `byte_limit`, which suits files with very long lines. The first line of the answer says which
    /// part it is and how to read on; the content follows it.
    async fn execute(
        &self,
        /// Path of the file.
        path: String,
        /// The line to begin with; the first is 1.
        #[param(range = 1..)]
        offset: Option<u64>,
        /// How many lines to read; 200 if not given.
        #[param(range = 1..=2000)]
        limit: Option<u64>,
        /// The byte to begin with; the first is 0.
        byte_offset: Option<u64>,
        /// How many bytes to read.
        #[param(range = 1..=16384)]
        byte_limit: Option<u64>,
        tool_call: &ToolCall,
    ) -> Result<String, ToolError> {
        let path = FilePath::new(path)?;
        let store = self.files.store();
        let size = store.size(&path).await?;
        let size = size.ok_or_else(|| FileError::not_found(&path))?;
        let by_lines = offset.is_some() || limit.is_some();
        let by_bytes = byte_offset.is_some() || byte_limit.is_some();
        let text = match (by_lines, by_bytes) {
            (true, true) => {
                let text =
                    "Give `offset` and `limit`, or `byte_offset` and `byte_limit`, not both.";
                return Err(ToolError::new(text));
            }
            _ if size == 0 => format!("[`{path}` is empty.]"),
            (_, true) => {
                let start = byte_offset.unwrap_or(0);
                let length = byte_limit.unwrap_or(PAGE);
                bytes(store, &path, size, start, length).await?
            }
            (_, false) => {
                let (first, count) = (offset.unwrap_or(1).max(1), limit.unwrap_or(200));
                lines(store, &path, size, first, count).await?
            }
        };
        self.files.saw(tool_call, &path);
        Ok(text)
    }
}

async fn bytes(
    store: &dyn FileStore,
    path: &FilePath,
    size: u64,
    start: u64,
    length: u64,
) -> Result<String, ToolError> {
    if start >= size {
        return Err(beyond(path, &format!("only {size} bytes")));
    }
    // Long enough for one character.
    let length = length.clamp(4, PAGE);
    let found = store
        .read_range(path, start..start.saturating_add(length))
        .await?;
    let skipped = found
        .iter()
        .take_while(|byte| start > 0 && is_inside_character(**byte))
        .count()
        .min(3);
    let end = start + found.len() as u64;
    let kept = match end < size {
        true => whole_characters(&found),
        false => found.len(),
    };
    let kept = kept.max(skipped);
    let (first, end) = (start + skipped as u64, start + kept as u64);
    let more = match end < size && !found.is_empty() {
        true => format!("Read on with byte_offset={end}."),
        false => "This is the end of the file.".into(),
    };
    let text = String::from_utf8_lossy(&found[skipped..kept]);
    Ok(format!(
        "[`{path}`, bytes {first} to {end} of {size}. {more}]\n{text}"
    ))
}

async fn lines(
    store: &dyn FileStore,
    path: &FilePath,
    size: u64,
    first: u64,
    count: u64,
) -> Result<String, ToolError> {
    let start = start_of_line(store, path, size, first).await?;
    let found = store.read_range(path, start..start + PAGE).await?;
    let ends = || {
        let newlines = found.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        newlines.map(|(at, _)| at + 1)
    };
    let is_last = start + found.len() as u64 >= size;
    let wanted = usize::try_from(count).unwrap_or(usize::MAX);
    let kept = match ends().take(wanted).last() {
        _ if is_last && ends().count() < wanted => found.len(),
        Some(end) => end,
        None => whole_characters(&found),
    };
    let end = start + kept as u64;
    let kept = &found[..kept];
    let newlines = kept.iter().filter(|byte| **byte == b'\n').count() as u64;
    let is_whole = kept.last() == Some(&b'\n');
    let last = first + newlines - u64::from(is_whole && newlines > 0);
    let more = match (end < size, is_whole) {
        (false, _) => "This is the end of the file.".into(),
        (true, true) => format!("Read on with offset={}.", last + 1),
        (true, false) => format!("Line {last} goes on: read on with byte_offset={end}."),
    };
    let text = String::from_utf8_lossy(kept);
    Ok(format!(
        "[`{path}`, lines {first} to {last}, bytes {start} to {end} of {size}. {more}]\n{text}"
    ))
}

/// At which byte a line begins.
async fn start_of_line(
    store: &dyn FileStore,
    path: &FilePath,
    size: u64,
    line: u64,
) -> Result<u64, ToolError> {
    let (mut at, mut left) = (0, line - 1);
    while left > 0 {
        let found = store.read_range(path, at..at + STRIDE).await?;
        let mut newlines = 0;
        for (index, _) in found.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            newlines += 1;
            if newlines == left {
                at += index as u64 + 1;
                break;
            }
        }
        if newlines < left {
            at += found.len() as u64;
        }
        left -= newlines;
        if at >= size || found.is_empty() {
            let lines = line - 1 - left + u64::from(!ends_with_newline(store, path, size).await?);
            return Err(beyond(path, &format!("only {lines} lines")));
        }
    }
    Ok(at)
}

async fn ends_with_newline(
    store: &dyn FileStore,
    path: &FilePath,
    size: u64,
) -> Result<bool, FileError> {
    Ok(*store.read_range(path, size - 1..size).await? == *b"\n")
}

fn beyond(path: &FilePath, what: &str) -> ToolError {
    ToolError::new(format!("`{path}` has {what}."))
}

fn is_inside_character(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many of the bytes are left without a character that is cut at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(4);
    let lead = (from..bytes.len())
        .rev()
        .find(|at| !is_inside_character(bytes[*at]));
    match lead {
        Some(at) if bytes.len() - at < length_of_character(bytes[at]) => at,
        _ => bytes.len(),
    }
}

fn length_of_character(lead: u8) -> usize {
    match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0.. => 4,
        _ => 1,
    }
}
