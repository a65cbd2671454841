//! R9 and CASES.md K: results that are too long are kept, whole, in one place.

mod support;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use support::chat::{assert_paired, results, set, tool};
use tool_core::files::{
    DirectoryStore, FileEntry, FileError, FileErrorKind, FileFuture, FilePath, FileStore,
    FileTools, MemoryStore,
};
use tool_core::testing::ScriptedModel;
use tool_core::{
    Chat, Concurrency, FunctionTool, Outcome, Spill, Tool, ToolError, ToolOptions, ToolOutput,
    ToolResult,
};

/// A tool that gives or fails with this text.
fn telling(name: &str, spill: Option<Spill>, reply: Result<String, String>) -> Arc<dyn Tool> {
    let schema = json!({ "type": "object" });
    let tool = FunctionTool::new(name, "Tells.", schema, move |_: serde_json::Value| {
        let reply = reply.clone();
        async move { reply.map(ToolOutput::text).map_err(ToolError::new) }
    });
    Arc::new(tool.unwrap().define(|definition| match spill {
        Some(spill) => definition.with_spill_to_file(spill),
        None => definition,
    }))
}

/// What the model gets of this reply.
async fn told(
    store: impl FileStore + 'static,
    spill: Option<Spill>,
    reply: Result<String, String>,
) -> ToolResult {
    let model = ScriptedModel::new().call("tell", json!({})).text("done");
    let mut chat = Chat::new(model.clone())
        .with_tools(set([telling("tell", spill, reply)]))
        .with_file_store(store);
    chat.ask("go").await.unwrap();
    assert_paired(chat.messages());
    assert_eq!(&model.requests()[1].messages[..], &chat.messages()[..3]);
    results(&chat).remove(0)
}

async fn only_file(store: &MemoryStore) -> (FilePath, String) {
    let entries = store.list().await.unwrap();
    assert_eq!(entries.len(), 1);
    let content = store.read(&entries[0].path).await.unwrap();
    (
        entries[0].path.clone(),
        String::from_utf8(content.to_vec()).unwrap(),
    )
}

fn cut(result: &ToolResult) -> (&str, &str, &str) {
    let (note, shown) = result.text.split_once("\n\n").unwrap();
    let (head, rest) = shown.split_once("\n[… ").unwrap();
    let (_, tail) = rest
        .split_once(" characters are left out here …]\n")
        .unwrap();
    (note, head, tail)
}

#[tokio::test]
async fn a_megabyte_is_kept_whole_and_shown_by_start_and_end_b125() {
    let store = MemoryStore::new();
    let text: String = (0..40_000)
        .map(|line| format!("line {line} — grün 🦀\n"))
        .collect();
    assert!(text.len() > 1_000_000);
    let result = told(store.clone(), None, Ok(text.clone())).await;
    let (file, content) = only_file(&store).await;
    assert!(content == text, "the file lacks something");
    assert_eq!(result.outcome, Outcome::Ok);
    let (note, head, tail) = cut(&result);
    assert!(note.contains(&format!("`{file}`")), "{note}");
    let length = format!(
        "{} characters in 40000 lines, {} bytes",
        text.chars().count(),
        text.len()
    );
    assert!(note.contains(&length), "{note}");
    assert!(
        text.starts_with(&format!("{head}\n")),
        "not at the end of a line"
    );
    assert!(
        text.ends_with(&format!("\n{tail}")),
        "not at the start of a line"
    );
    assert!((1_900..=2_000).contains(&head.chars().count()));
    assert!((1_900..=2_000).contains(&tail.chars().count()));
    assert!(file.as_str().starts_with("results/1-0-tell-"), "{file}");
    assert!(
        !note.contains("read_file"),
        "a tool that is not there: {note}"
    );
}

#[tokio::test]
async fn the_end_is_there_b127() {
    let text = "out\n".repeat(30_000) + "error: the last line";
    for reply in [Ok(text.clone()), Err(text)] {
        let result = told(MemoryStore::new(), None, reply).await;
        assert!(result.text.ends_with("\nerror: the last line"));
    }
}

#[tokio::test]
async fn an_error_is_kept_like_a_result_r9() {
    let store = MemoryStore::new();
    let text = "stack\n".repeat(10_000);
    let result = told(store.clone(), None, Err(text.clone())).await;
    assert_eq!(result.outcome, Outcome::Error);
    assert!(result.text.len() < 5_000);
    let (file, content) = only_file(&store).await;
    assert!(content == text && result.text.contains(file.as_str()));
}

#[tokio::test]
async fn the_error_that_stops_a_chat_is_kept_too_r9() {
    let store = MemoryStore::new();
    let fatal = tool("fail", || async {
        Err(ToolError::fatal("x".repeat(50_000)))
    });
    let model = ScriptedModel::new().call("fail", json!({}));
    let mut chat = Chat::new(model)
        .with_tools(set([fatal]))
        .with_file_store(store.clone());
    let error = chat.ask("go").await.unwrap_err();
    assert_eq!(error.tool_error().unwrap().to_string().len(), 50_000);
    assert!(results(&chat)[0].text.len() < 5_000);
    assert_eq!(only_file(&store).await.1.len(), 50_000);
}

#[tokio::test]
async fn a_huge_line_is_cut_between_characters_r9() {
    for character in ["é", "🦀", "日", "e\u{301}"] {
        let text = character.repeat(100_000);
        let result = told(MemoryStore::new(), None, Ok(text.clone())).await;
        let (note, head, tail) = cut(&result);
        assert!(note.contains("in 1 lines"), "{note}");
        assert_eq!((head.chars().count(), tail.chars().count()), (2_000, 2_000));
        assert!(text.starts_with(head) && text.ends_with(tail));
    }
}

#[tokio::test]
async fn the_limit_is_exact_and_counts_characters_r9() {
    for (text, limit, kept) in [
        ("", 0, true), // the model reads `null`
        ("a", 0, true),
        ("a", 1, false),
        ("🦀", 1, false),
        ("🦀🦀", 1, true),
        ("a\nb\n", 3, true),
        ("éééé", 4, false),
        ("ééééé", 4, true),
    ] {
        let store = MemoryStore::new();
        let spill = Some(Spill::Characters(limit));
        let result = told(store.clone(), spill, Ok(text.into())).await;
        let whole = if text.is_empty() { "null" } else { text };
        if kept {
            assert_eq!(only_file(&store).await.1, whole);
            assert!(
                result.text.starts_with("This result is too long"),
                "{}",
                result.text
            );
            let shown = result.text.split_once("\n\n").map(|_| cut(&result));
            let shown = shown.map_or(0, |(_, head, tail)| {
                (head.to_owned() + tail).chars().count()
            });
            assert!(shown <= limit, "{}", result.text);
        } else {
            assert_eq!(result.text, whole);
            assert_eq!(store.list().await.unwrap(), []);
        }
    }
}

#[tokio::test]
async fn the_limit_of_the_tool_goes_before_that_of_the_chat_r9() {
    let text = |length| Ok("x".repeat(length));
    let store = MemoryStore::new();
    let model = ScriptedModel::new()
        .calls(["own", "never", "chat"].map(|name| (name, json!({}))))
        .text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([
            telling("own", Some(Spill::Characters(5_000)), text(4_000)),
            telling("never", Some(Spill::Never), text(1_000_000)),
            telling("chat", None, text(4_000)),
        ]))
        .with_file_store(store.clone())
        .with_spill_to_file(100);
    chat.ask("go").await.unwrap();
    let lengths: Vec<usize> = results(&chat)
        .iter()
        .map(|result| result.text.len())
        .collect();
    assert_eq!(lengths[..2], [4_000, 1_000_000]);
    assert!(lengths[2] < 500);
    assert!(only_file(&store).await.0.as_str().contains("-chat-"));
}

#[tokio::test]
async fn without_files_or_with_never_all_is_sent_r9() {
    let text = "x".repeat(1_000_000);
    let tool = || set([telling("tell", None, Ok("x".repeat(1_000_000)))]);
    let model = || ScriptedModel::new().call("tell", json!({})).text("done");
    let store = MemoryStore::new();
    let never = Chat::new(model())
        .with_file_store(store.clone())
        .with_spill_to_file(Spill::Never);
    let without = Chat::new(model()).with_spill_to_file(10);
    for chat in [never, without] {
        let mut chat = chat.with_tools(tool());
        chat.ask("go").await.unwrap();
        assert!(results(&chat)[0].text == text);
    }
    assert_eq!(store.list().await.unwrap(), []);
}

/// A store that does not work.
#[derive(Clone, Copy)]
enum Broken {
    Fails,
    Panics,
}

impl FileStore for Broken {
    fn write<'a>(&'a self, _: &'a FilePath, _: Bytes) -> FileFuture<'a, ()> {
        match self {
            Broken::Fails => {
                let text = "the disk is full".to_owned() + &"!".repeat(5_000);
                Box::pin(async { Err(FileError::new(FileErrorKind::Store, text)) })
            }
            Broken::Panics => panic!("a bug in the store"),
        }
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes> {
        Box::pin(async { Err(FileError::not_found(path)) })
    }

    fn read_range<'a>(&'a self, path: &'a FilePath, _: Range<u64>) -> FileFuture<'a, Bytes> {
        self.read(path)
    }

    fn list(&self) -> FileFuture<'_, Vec<FileEntry>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn size<'a>(&'a self, _: &'a FilePath) -> FileFuture<'a, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()> {
        Box::pin(async { Err(FileError::not_found(path)) })
    }
}

fn assert_truthful(result: &ToolResult, text: &str) {
    let (note, head, tail) = cut(result);
    assert!(
        note.contains("could not be kept") && note.contains("is lost"),
        "{note}"
    );
    assert!(
        !note.contains("saved") && !note.contains("is in the file"),
        "{note}"
    );
    assert!(text.starts_with(head) && text.ends_with(tail));
    assert!(result.text.chars().count() < 20_700);
    // What is lost is not cut more than the limit asks.
    assert!(head.chars().count() + tail.chars().count() > 19_000);
}

#[tokio::test]
async fn a_store_that_fails_or_panics_is_no_secret_b128() {
    let text: String = (0..100_000).map(|line| format!("{line}\n")).collect();
    for (store, said) in [
        (Broken::Fails, "the disk is full"),
        (Broken::Panics, "store of the files failed"),
    ] {
        let result = told(store, None, Ok(text.clone())).await;
        assert_truthful(&result, &text);
        assert!(result.text.contains(said), "{}", &result.text[..500]);
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_no_secret_b128() {
    let root = std::env::temp_dir().join(format!("tool-spill-{}", std::process::id()));
    let store = DirectoryStore::new(&root).unwrap();
    let text: String = (0..100_000).map(|line| format!("{line}\n")).collect();
    // Also root cannot put a file into a file.
    std::fs::write(root.join("results"), "in the way").unwrap();
    assert_truthful(&told(store.clone(), None, Ok(text.clone())).await, &text);
    std::fs::remove_file(root.join("results")).unwrap();
    std::fs::remove_dir(&root).unwrap();
    assert_truthful(&told(store, None, Ok(text.clone())).await, &text);
}

#[tokio::test]
async fn every_call_has_its_own_file_also_of_other_chats_r9() {
    let store = MemoryStore::new();
    for _ in 0..3 {
        let model = ScriptedModel::new()
            .calls([("tell", json!({})), ("tell", json!({}))])
            .call("tell", json!({}))
            .text("done");
        let mut chat = Chat::new(model)
            .with_tools(set([telling("tell", None, Ok("x".repeat(30_000)))]))
            .with_tool_options(ToolOptions::new().concurrency(Concurrency::Unbounded))
            .with_file_store(store.clone());
        chat.ask("go").await.unwrap();
        for result in results(&chat) {
            let (_, rest) = result.text.split_once('`').unwrap();
            let path: FilePath = rest.split_once('`').unwrap().0.parse().unwrap();
            assert_eq!(store.size(&path).await.unwrap(), Some(30_000));
        }
    }
    assert_eq!(store.list().await.unwrap().len(), 9);
}

#[tokio::test]
async fn a_tool_of_any_name_can_spill_r9() {
    for name in ["con", "NUL", "_", "x-", &"n".repeat(64)] {
        let folder = format!("tool-spill-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let store = DirectoryStore::new(&folder).unwrap();
        let model = ScriptedModel::new().call(name, json!({})).text("done");
        let mut chat = Chat::new(model)
            .with_tools(set([telling(name, None, Ok("x".repeat(30_000)))]))
            .with_file_store(store.clone());
        chat.ask("go").await.unwrap();
        let files = store.list().await.unwrap();
        assert_eq!(files.len(), 1, "{name}");
        assert_eq!(files[0].size, 30_000, "{name}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[tokio::test]
async fn a_model_reads_on_with_the_tools_it_is_told_of_r9() {
    let store = MemoryStore::new();
    let text: String = (1..=9_000).map(|line| format!("row {line}\n")).collect();
    let model = ScriptedModel::new()
        .call("tell", json!({}))
        .call("search_files", json!({ "pattern": "row 4711" }))
        .text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([telling("tell", None, Ok(text))]))
        .with_tools(FileTools::new(store.clone()).tools())
        .with_file_store(store);
    chat.ask("go").await.unwrap();
    let results = results(&chat);
    let said = "Use `read_file` or `search_files` to see the rest of it.";
    assert!(results[0].text.contains(said));
    assert!(
        results[1].text.contains(":4711 (byte "),
        "{}",
        results[1].text
    );
}

#[tokio::test]
async fn a_tool_of_the_users_that_is_called_read_file_is_not_recommended_r9() {
    let model = ScriptedModel::new()
        .call("read_file", json!({}))
        .text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([telling("read_file", None, Ok("x".repeat(30_000)))]))
        .with_file_store(MemoryStore::new());
    chat.ask("go").await.unwrap();
    assert!(!results(&chat)[0].text.contains("Use `read_file`"));
}

#[tokio::test]
async fn fifty_megabytes_are_kept_without_a_copy_r9() {
    /// Remembers where the bytes are that it is given.
    #[derive(Clone, Default)]
    struct Watching(MemoryStore, Arc<std::sync::atomic::AtomicUsize>);

    impl FileStore for Watching {
        fn write<'a>(&'a self, path: &'a FilePath, content: Bytes) -> FileFuture<'a, ()> {
            let address = content.as_ptr() as usize;
            self.1.store(address, std::sync::atomic::Ordering::SeqCst);
            self.0.write(path, content)
        }

        fn read<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Bytes> {
            self.0.read(path)
        }

        fn list(&self) -> FileFuture<'_, Vec<FileEntry>> {
            self.0.list()
        }

        fn size<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, Option<u64>> {
            self.0.size(path)
        }

        fn delete<'a>(&'a self, path: &'a FilePath) -> FileFuture<'a, ()> {
            self.0.delete(path)
        }
    }

    let text = "0123456789\n".repeat(4_800_000);
    let (address, length) = (text.as_ptr() as usize, text.len());
    let once = std::sync::Mutex::new(Some(text));
    let schema = json!({ "type": "object" });
    let tool = FunctionTool::new("tell", "Tells.", schema, move |_: serde_json::Value| {
        let text = once.lock().unwrap().take().unwrap();
        async move { Ok::<_, ToolError>(ToolOutput::text(text)) }
    });
    let store = Watching::default();
    let model = ScriptedModel::new().call("tell", json!({})).text("done");
    let mut chat = Chat::new(model)
        .with_tools(set([Arc::new(tool.unwrap()) as Arc<dyn Tool>]))
        .with_file_store(store.clone());
    chat.ask("go").await.unwrap();
    assert_eq!(store.1.load(std::sync::atomic::Ordering::SeqCst), address);
    assert_eq!(store.0.list().await.unwrap()[0].size, length as u64);
    assert!(results(&chat)[0].text.len() < 5_000);
}
