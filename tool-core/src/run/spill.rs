//! The one place where a result that is too long is cut, and kept whole in a file.

use std::sync::Arc;

use bytes::Bytes;

use super::Outbox;
use super::execute::Ran;
use super::outbox::Unkept;
use crate::files::{FileError, FileErrorKind, FilePath, FileStore, readers};
use crate::{Spill, Tool, ToolCall, ToolResult, ToolSet};

/// How many characters of a kept result are shown, at most.
const SHOWN: usize = 4_000;

/// How many characters of a store's error are shown, at most.
const SHOWN_OF_ERROR: usize = 300;

/// What is done with the result of one call.
pub(crate) struct SpillOver {
    store: Arc<dyn FileStore>,
    limit: usize,
    /// The tools by which the model can read the file.
    readers: Vec<&'static str>,
}

impl SpillOver {
    /// What a chat with these files does with the results of a tool; `None`: they are sent whole.
    pub(crate) fn of(
        files: &Arc<dyn FileStore>,
        limit: Spill,
        tool: &dyn Tool,
        tools: &ToolSet,
    ) -> Option<Self> {
        match tool.definition().spill_to_file().unwrap_or(limit) {
            Spill::Never => None,
            Spill::Characters(limit) => Some(SpillOver {
                store: files.clone(),
                limit,
                readers: readers(tools),
            }),
        }
    }

    /// Whether a result has more characters than are sent.
    pub(crate) fn is_too_long(&self, result: &ToolResult) -> bool {
        // A character has at least one byte.
        result.text.len() > self.limit && result.text.chars().nth(self.limit).is_some()
    }

    /// The result, cut, and kept whole in a file. If this is dropped before the file is written, the
    /// result is put back.
    pub(crate) async fn bound(self, call: &ToolCall, unkept: Unkept, outbox: &Outbox) -> Ran {
        let whole = unkept.text.clone();
        let mut keeping = Keeping {
            key: call.idempotency_key(),
            outbox,
            unkept: Some(unkept),
        };
        let kept = self.keep(call, whole.clone()).await;
        let unkept = keeping.unkept.take();
        let (fate, shown) = match kept {
            Ok(path) => (self.kept(&path), self.limit.min(SHOWN)),
            Err(error) => (lost(&error), self.limit),
        };
        let text = cut(&whole, &fate, shown);
        match unkept {
            Some(Unkept {
                mut result, fatal, ..
            }) => {
                result.text = text;
                Ran::of(result, fatal)
            }
            None => Ran::Left,
        }
    }

    /// Writes the file in a task of its own: it is written to its end even if nobody waits any more,
    /// and a store that panics has failed.
    async fn keep(&self, call: &ToolCall, whole: Bytes) -> Result<FilePath, FileError> {
        let path = path(call)?;
        let (store, to) = (self.store.clone(), path.clone());
        let write = tokio::spawn(async move { store.write(&to, whole).await });
        let failed = |error| {
            FileError::new(FileErrorKind::Store, "the store of the files failed").with_source(error)
        };
        write.await.map_err(failed)??;
        Ok(path)
    }

    fn kept(&self, path: &FilePath) -> String {
        let hint = match self.readers.as_slice() {
            [] => "".into(),
            names => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                format!(" Use {} to see the rest of it.", names.join(" or "))
            }
        };
        format!("All of it is in the file `{path}`.{hint}")
    }
}

/// A result that is being kept.
struct Keeping<'a> {
    key: &'a str,
    outbox: &'a Outbox,
    unkept: Option<Unkept>,
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        if let Some(unkept) = self.unkept.take() {
            self.outbox.put_unkept(self.key.to_owned(), unkept);
        }
    }
}

/// A result that nobody waits for any more, cut without a file.
pub(crate) fn given_up(unkept: Unkept) -> ToolResult {
    let Unkept {
        mut result, text, ..
    } = unkept;
    let fate = "It was not kept in a file, for the run was cancelled, so that all but what follows is lost.";
    result.text = cut(&text, fate, SHOWN);
    result
}

/// What is said of a result that is too long, and its ends.
fn cut(whole: &Bytes, fate: &str, shown: usize) -> String {
    let text = String::from_utf8_lossy(whole);
    let (characters, lines) = (text.chars().count(), text.lines().count());
    let bytes = whole.len();
    format!(
        "This result is too long to be shown whole: it has {characters} characters in {lines} lines, {bytes} bytes. {fate}{}",
        ends(&text, characters, shown)
    )
}

fn lost(error: &FileError) -> String {
    let error: String = error.to_string().chars().take(SHOWN_OF_ERROR).collect();
    format!("It could not be kept in a file, so that all but what follows is lost: {error}.")
}

/// Different for every call, also of other chats in the same store, and the same whenever it runs.
fn path(call: &ToolCall) -> Result<FilePath, FileError> {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => character,
        _ => '_',
    };
    let name: String = call.name.chars().take(60).map(plain).collect();
    let (_, message, position) = call.place();
    let key = hash(call.idempotency_key());
    FilePath::new(format!(
        "results/{message}-{position}-{name}-{key:016x}.txt"
    ))
}

/// FNV-1a: paths must stay the same from one version of this crate to the next.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The start and the end of a text, together of no more than so many characters.
fn ends(text: &str, characters: usize, shown: usize) -> String {
    if shown == 0 {
        return String::new();
    }
    let head = head(text, shown.div_ceil(2));
    let tail = tail(text, shown / 2);
    let left_out = characters - head.chars().count() - tail.chars().count();
    format!(
        " Its start and its end:\n\n{}\n[… {left_out} characters are left out here …]\n{tail}",
        head.strip_suffix('\n').unwrap_or(head)
    )
}

/// The first characters, up to the end of a line where one ends in their second half.
fn head(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters);
    let (head, rest) = text.split_at(end.map_or(text.len(), |(end, _)| end));
    match head.rfind('\n') {
        Some(line) if !rest.starts_with('\n') && line >= head.len() / 2 => &head[..=line],
        _ => head,
    }
}

/// The last characters, from the start of a line where one starts in their first half.
fn tail(text: &str, characters: usize) -> &str {
    let Some(last) = characters.checked_sub(1) else {
        return "";
    };
    let start = text.char_indices().nth_back(last);
    let (rest, tail) = text.split_at(start.map_or(0, |(start, _)| start));
    match tail.find('\n') {
        Some(line) if !rest.ends_with('\n') && line < tail.len() / 2 => &tail[line + 1..],
        _ => tail,
    }
}
