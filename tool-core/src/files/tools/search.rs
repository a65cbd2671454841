//! `search_files`.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use regex_lite::{Regex, RegexBuilder};
use tool_macros::tool;

use super::{Files, has};
use crate::files::{FileEntry, FilePath};
use crate::{Named, ToolDefinition, ToolError};

/// How many matches a page has.
const PAGE: usize = 50;

/// How many characters are shown on either side of the start of a match.
const AROUND: usize = 120;

/// How many bytes are searched for one page.
const BUDGET: u64 = 64 << 20;

pub(super) const NAME: &str = SearchFiles::NAME;

pub(super) struct SearchFiles {
    pub(super) files: Files,
}

pub(super) fn is_definition(definition: &ToolDefinition) -> bool {
    definition.name() == NAME && has(definition, "regex")
}

#[tool(crate = crate, spill_to_file = false)]
impl SearchFiles {
    /// Finds text in files. Each line of the answer is a match: the path, the number of the line, the
    /// byte where the match begins, and the text around it.
    async fn execute(
        &self,
        /// What to find: plain text, in this very case, or a regular expression.
        #[param(length = 1..=1000)]
        pattern: String,
        /// Whether the pattern is a regular expression; `(?i)` at its start ignores case.
        #[param(default)]
        regex: bool,
        /// Only this file, or only files in this folder.
        path: Option<String>,
        /// How many matches to skip, to get the next page.
        #[param(default = 0, range = 0..=100000)]
        offset: usize,
    ) -> Result<String, ToolError> {
        let pattern = Arc::new(Pattern::new(pattern, regex)?);
        let mut left = BUDGET;
        let mut found = Vec::new();
        let mut unsearched = Vec::new();
        let entries = self.entries(path.as_deref()).await?;
        // A file that is asked for by its name is searched however large it is.
        let alone = entries.len() == 1;
        for FileEntry { path, size, .. } in entries {
            if found.len() > offset + PAGE {
                break;
            }
            if size > left && !alone {
                unsearched.push(path);
                continue;
            }
            left = left.saturating_sub(size);
            let content = match self.files.store().read(&path).await {
                Err(error) if error.is_not_found() => continue,
                content => content?,
            };
            let (pattern, wanted) = (pattern.clone(), offset + PAGE + 1 - found.len());
            let search = move || matches(&path, &content, &pattern, wanted);
            match tokio::task::spawn_blocking(search).await {
                Ok(matches) => found.extend(matches),
                Err(error) => {
                    return Err(ToolError::new("the search was stopped").with_source(error));
                }
            }
        }
        Ok(page(&found, offset, &unsearched))
    }

    async fn entries(&self, within: Option<&str>) -> Result<Vec<FileEntry>, ToolError> {
        let store = self.files.store();
        let within = match within.map(|path| path.trim_end_matches('/')) {
            None | Some("" | ".") => return Ok(store.list().await?),
            Some(path) => FilePath::new(path)?,
        };
        if let Ok(Some(size)) = store.size(&within).await {
            return Ok(vec![FileEntry::new(within, size)]);
        }
        let mut entries = store.list().await?;
        entries.retain(|entry| entry.path.is_in(&within));
        if entries.is_empty() {
            return Err(ToolError::new(format!(
                "there is no file and no folder `{within}`"
            )));
        }
        Ok(entries)
    }
}

enum Pattern {
    Plain(String),
    Regex(Regex),
}

impl Pattern {
    fn new(pattern: String, regex: bool) -> Result<Self, ToolError> {
        if !regex {
            return Ok(Pattern::Plain(pattern));
        }
        let regex = RegexBuilder::new(&pattern).multi_line(true).build();
        regex
            .map(Pattern::Regex)
            .map_err(|error| ToolError::new(format!("`pattern` is no regular expression: {error}")))
    }

    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        match self {
            Pattern::Plain(plain) => text[from..]
                .find(plain)
                .map(|at| from + at..from + at + plain.len()),
            Pattern::Regex(regex) => regex.find_at(text, from).map(|found| found.range()),
        }
    }
}

/// The first matches in a file, a line for each. What one line shows is not shown again.
fn matches(path: &FilePath, content: &Bytes, pattern: &Pattern, wanted: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let mut found = Vec::new();
    let (mut from, mut line, mut counted) = (0, 1, 0);
    while found.len() < wanted
        && let Some(range) = pattern.find(&text, from)
    {
        // After the last newline there is no line.
        if range.start == text.len() && ends_line(&text) {
            break;
        }
        line += newlines(&text[counted..range.start]);
        counted = range.start;
        let shown = around(&text, range.start);
        let before = if ends_line(&text[..shown.start]) {
            ""
        } else {
            "…"
        };
        let rest = &text[shown.end..];
        let after = if rest.is_empty() || rest.starts_with('\n') {
            ""
        } else {
            "…"
        };
        let snippet = text[shown.clone()].trim_end_matches('\r');
        found.push(format!(
            "{path}:{line} (byte {}): {before}{snippet}{after}",
            match text {
                Cow::Borrowed(_) => range.start,
                Cow::Owned(_) => byte_in(content, range.start),
            }
        ));
        let end = shown.end.max(range.end);
        from = match text[end..].chars().next() {
            Some(next) if range.is_empty() => end + next.len_utf8(),
            Some(_) => end,
            None => break,
        };
    }
    found
}

/// Where in bytes that are no text a place is in what was made text of them.
fn byte_in(content: &[u8], place: usize) -> usize {
    let (mut byte, mut left) = (0, place);
    for chunk in content.utf8_chunks() {
        let valid = chunk.valid().len();
        if left <= valid {
            return byte + left;
        }
        left = (left - valid).saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
        byte += valid + chunk.invalid().len();
    }
    byte
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn ends_line(text: &str) -> bool {
    text.is_empty() || text.ends_with('\n')
}

/// What is shown of the line in which a match begins.
fn around(text: &str, at: usize) -> Range<usize> {
    let before = text[..at].char_indices().rev().take(AROUND);
    let start = before
        .take_while(|(_, character)| *character != '\n')
        .last()
        .map_or(at, |(index, _)| index);
    let after = text[at..].char_indices().take(AROUND);
    let end = after
        .take_while(|(_, character)| *character != '\n')
        .last()
        .map_or(at, |(index, character)| at + index + character.len_utf8());
    start..end
}

fn page(found: &[String], offset: usize, unsearched: &[FilePath]) -> String {
    let shown: Vec<&str> = found
        .iter()
        .skip(offset)
        .take(PAGE)
        .map(String::as_str)
        .collect();
    let mut text = match (shown.is_empty(), offset) {
        (true, 0) => "Nothing was found.".to_owned(),
        (true, _) => format!("There are no more than {} matches.", found.len()),
        (false, _) => shown.join("\n"),
    };
    if found.len() > offset + PAGE {
        let _ = write!(
            text,
            "\n[There are more matches: search with offset={}.]",
            offset + PAGE
        );
    } else if !unsearched.is_empty() {
        let names: Vec<String> = unsearched
            .iter()
            .take(10)
            .map(|path| format!("`{path}`"))
            .collect();
        let _ = write!(
            text,
            "\n[{} files were not searched, because all together are too large: {}. Search them one by one, or read them in pages.]",
            unsearched.len(),
            names.join(", ")
        );
    }
    text
}
