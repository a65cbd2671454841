//! R9 and CASES.md K: what every file store promises, and the tools a model gets over it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde_json::{Value, json};
use tool_core::files::{
    DirectoryStore, FileEntry, FileErrorKind, FilePath, FileStore, FileTools, MemoryStore,
};
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Message, Spill, ToolSet};

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-file-stores-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn store(&self) -> DirectoryStore {
        DirectoryStore::new(self.0.join("files")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn path(path: &str) -> FilePath {
    path.parse().unwrap()
}

/// What every store promises.
async fn conforms(store: Arc<dyn FileStore>) {
    assert_eq!(store.list().await.unwrap(), []);

    for content in ["", "x", "grün 🦀\n", "\0\u{1}binary"] {
        store
            .write(&path("a.txt"), content.as_bytes().into())
            .await
            .unwrap();
        assert_eq!(store.read(&path("a.txt")).await.unwrap(), content);
        let size = store.size(&path("a.txt")).await.unwrap();
        assert_eq!(size, Some(content.len() as u64));
    }

    store
        .write(&path("deep/er/ü b.txt"), Bytes::from_static(b"0123456789"))
        .await
        .unwrap();
    store
        .write(&path("deep-1"), Bytes::from_static(b"1"))
        .await
        .unwrap();
    let entry = |name: &str, size| FileEntry::new(path(name), size);
    assert_eq!(
        store.list().await.unwrap(),
        [
            entry("a.txt", 8),
            entry("deep-1", 1),
            entry("deep/er/ü b.txt", 10)
        ]
    );

    let deep = path("deep/er/ü b.txt");
    for (range, found) in [
        (0..3, "012"),
        (3..4, "3"),
        (8..100, "89"),
        (10..11, ""),
        (u64::MAX - 1..u64::MAX, ""),
        (0..u64::MAX, "0123456789"),
        (4..4, ""),
    ] {
        assert_eq!(store.read_range(&deep, range).await.unwrap(), found);
    }
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = store.read_range(&deep, 5..2).await.unwrap();
    assert_eq!(reversed, "");

    let missing = path("deep/er/none");
    assert_eq!(store.size(&missing).await.unwrap(), None);
    let kinds = [
        store.read(&missing).await.unwrap_err().kind(),
        store.read_range(&missing, 0..1).await.unwrap_err().kind(),
        store.delete(&missing).await.unwrap_err().kind(),
        store.read(&path("no/such")).await.unwrap_err().kind(),
    ];
    assert_eq!(kinds, [FileErrorKind::NotFound; 4]);

    // A folder is no file, and a file is no folder.
    for wrong in ["deep", "deep/er", "a.txt/b", "a.txt/b/c"] {
        let wrong = path(wrong);
        let kinds = [
            store.write(&wrong, Bytes::new()).await.unwrap_err().kind(),
            store.read(&wrong).await.unwrap_err().kind(),
            store.size(&wrong).await.unwrap_err().kind(),
            store.delete(&wrong).await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [FileErrorKind::NotAFile; 4], "{wrong}");
    }

    // With the last file in it a folder is gone.
    store.delete(&deep).await.unwrap();
    store
        .write(&path("deep"), Bytes::from_static(b"now a file"))
        .await
        .unwrap();
    store.delete(&path("deep")).await.unwrap();

    concurrent(&store).await;
}

/// Readers see one writer's content whole, while folders come and go.
async fn concurrent(store: &Arc<dyn FileStore>) {
    let mut tasks = Vec::new();
    for writer in 0..8_u8 {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let content = vec![b'a' + writer; 50_000];
            let own = path(&format!("many/{writer}/file"));
            for _ in 0..10 {
                store
                    .write(&path("shared"), content.clone().into())
                    .await
                    .unwrap();
                let read = store.read(&path("shared")).await.unwrap();
                assert_eq!(read.len(), 50_000);
                assert!(read.iter().all(|byte| *byte == read[0]));
                store.write(&own, content.clone().into()).await.unwrap();
                store.list().await.unwrap();
                store.delete(&own).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let left: Vec<_> = store.list().await.unwrap();
    let left: Vec<&str> = left.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(left, ["a.txt", "deep-1", "shared"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_memory_conforms_r9() {
    conforms(Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_folder_conforms_r9() {
    let folder = Folder::new();
    conforms(Arc::new(folder.store())).await;
    let names = std::fs::read_dir(folder.0.join("files")).unwrap();
    assert_eq!(names.count(), 3, "something is left behind");
}

#[tokio::test]
async fn files_outlive_the_store_in_a_folder_r9() {
    let folder = Folder::new();
    let content = Bytes::from_static(b"kept");
    folder.store().write(&path("x/y"), content).await.unwrap();
    assert_eq!(folder.store().read(&path("x/y")).await.unwrap(), "kept");
    let on_disk = std::fs::read(folder.0.join("files/x/y")).unwrap();
    assert_eq!(on_disk, b"kept");
}

#[test]
fn paths_cannot_escape_r9() {
    let long_name = "x".repeat(201);
    let long_path = "ab/".repeat(400) + "c";
    for escape in [
        "",
        "/",
        "/etc/passwd",
        "//server/share",
        ".",
        "..",
        "./a",
        "../a",
        "a/..",
        "a/../b",
        "a/./b",
        "a//b",
        "a/",
        "C:",
        "C:/a",
        "c:a",
        "a\\b",
        "..\\a",
        "\\\\server\\share",
        "a\0b",
        "a\nb",
        "a\u{7f}",
        "a\u{85}b",
        "CON",
        "con",
        "nul.txt",
        "a/AUX",
        "prn .txt",
        "COM1",
        "lpt9.log",
        "com¹",
        "CONIN$",
        "a.",
        "a ",
        "a./b",
        "...",
        "a/b ",
        "file:stream",
        "a*",
        "a?",
        "a|b",
        "a<b",
        "a\"",
        ".~1-2",
        "a/.~x",
        &long_name,
        &long_path,
    ] {
        let error = escape.parse::<FilePath>().unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::InvalidPath, "{escape:?}");
        assert!(error.to_string().len() < 300);
    }
    for fine in [
        "a",
        "a.txt",
        ".hidden",
        "..a",
        "a..b",
        "a/b/c",
        "grün/日本 語.md",
        "~",
        "con2",
        "console",
        "com",
        "com10",
        "aux_",
        "results/3-0-report.txt",
        " a",
        "-rf",
    ] {
        assert_eq!(path(fine).as_str(), fine);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed_r9() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    let store = folder.store();
    let root = store.root().to_owned();
    let outside = folder.0.join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    std::fs::write(root.join("inside"), "inside").unwrap();
    symlink(&outside, root.join("folder")).unwrap();
    symlink(outside.join("secret"), root.join("file")).unwrap();
    symlink(outside.join("new"), root.join("dangling")).unwrap();
    symlink(root.join("inside"), root.join("within")).unwrap();

    for link in [
        "folder/secret",
        "folder/new",
        "folder/deep/new",
        "folder",
        "file",
        "dangling",
        "dangling/new",
        "within",
    ] {
        let link = path(link);
        let kinds = [
            store.read(&link).await.unwrap_err().kind(),
            store.read_range(&link, 0..9).await.unwrap_err().kind(),
            store.size(&link).await.unwrap_err().kind(),
            store
                .write(&link, Bytes::from_static(b"x"))
                .await
                .unwrap_err()
                .kind(),
            store.delete(&link).await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [FileErrorKind::Link; 5], "{link}");
    }
    assert_eq!(
        store.list().await.unwrap(),
        [FileEntry::new(path("inside"), 6)]
    );
    let secret = std::fs::read_to_string(outside.join("secret")).unwrap();
    assert_eq!(secret, "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);

    let linked = folder.0.join("linked");
    symlink(&root, &linked).unwrap();
    let store = DirectoryStore::new(&linked).unwrap();
    assert_eq!(store.read(&path("inside")).await.unwrap(), "inside");
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_no_file_is_neither_read_nor_replaced_r9() {
    let folder = Folder::new();
    let store = folder.store();
    let socket = std::os::unix::net::UnixListener::bind(store.root().join("socket")).unwrap();
    let read = store.read(&path("socket")).await.unwrap_err();
    let written = store
        .write(&path("socket"), Bytes::new())
        .await
        .unwrap_err();
    assert_eq!(
        (read.kind(), written.kind()),
        (FileErrorKind::NotAFile, FileErrorKind::NotAFile)
    );
    assert_eq!(store.list().await.unwrap(), []);
    drop(socket);
}

#[tokio::test]
async fn an_error_of_a_store_does_not_say_where_its_folder_is_r9() {
    let folder = Folder::new();
    let store = folder.store();
    std::fs::remove_dir_all(store.root()).unwrap();
    let error = store.write(&path("a"), Bytes::new()).await.unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::Store);
    assert!(!error.to_string().contains("tool-file-stores"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

async fn run(tools: &ToolSet, name: &str, arguments: Value) -> Result<String, String> {
    let output = tools.get(name).unwrap().call(arguments).await;
    output
        .map(|output| output.as_text().to_owned())
        .map_err(|error| error.to_string())
}

async fn read(tools: &ToolSet, arguments: Value) -> (String, String) {
    let text = run(tools, "read_file", arguments).await.unwrap();
    let (head, content) = text.split_once('\n').unwrap_or((&text, ""));
    (head.to_owned(), content.to_owned())
}

async fn holding(files: &[(&str, &str)]) -> (MemoryStore, ToolSet) {
    let store = MemoryStore::new();
    for (name, content) in files {
        let content = Bytes::copy_from_slice(content.as_bytes());
        store.write(&path(name), content).await.unwrap();
    }
    let tools = FileTools::new(store.clone()).writable().tools();
    (store, tools)
}

#[tokio::test]
async fn a_model_reads_a_file_to_its_end_in_pages_of_lines_r9() {
    let lines: String = (1..=5_000)
        .map(|line| format!("line {line} 🦀\n"))
        .collect();
    for content in [lines.clone(), lines.trim_end().to_owned()] {
        let (_, tools) = holding(&[("a.txt", &content)]).await;
        let (mut whole, mut offset) = (String::new(), 1);
        loop {
            let arguments = json!({ "path": "a.txt", "offset": offset, "limit": 700 });
            let (head, page) = read(&tools, arguments).await;
            assert!(page.len() <= 16_384);
            assert!(page.starts_with(&format!("line {offset} ")), "{head}");
            whole += &page;
            match head.split_once("Read on with offset=") {
                Some((_, next)) => offset = next.trim_end_matches(".]").parse::<u64>().unwrap(),
                None => {
                    assert!(head.contains("to 5000, bytes"), "{head}");
                    assert!(head.contains("the end of the file"), "{head}");
                    break;
                }
            }
        }
        assert!(whole == content);
        for beyond in [5_001, 9_999, u64::MAX] {
            let arguments = json!({ "path": "a.txt", "offset": beyond });
            let error = run(&tools, "read_file", arguments).await.unwrap_err();
            assert_eq!(error, "`a.txt` has only 5000 lines.");
        }
        let (head, page) = read(&tools, json!({ "path": "a.txt" })).await;
        assert_eq!(page.lines().count(), 200, "{head}");
        let (head, page) = read(&tools, json!({ "path": "a.txt", "offset": 3, "limit": 1 })).await;
        assert_eq!(page, "line 3 🦀\n");
        assert!(head.contains("lines 3 to 3,"), "{head}");
    }
}

#[tokio::test]
async fn a_model_reads_one_huge_line_in_pages_of_bytes_r9() {
    let content = "aé🦀日".repeat(10_000);
    let (_, tools) = holding(&[("line", &content)]).await;
    let (head, mut whole) = read(&tools, json!({ "path": "line" })).await;
    assert!(
        head.contains("Line 1 goes on: read on with byte_offset="),
        "{head}"
    );
    loop {
        let arguments = json!({ "path": "line", "byte_offset": whole.len(), "byte_limit": 7_001 });
        let (head, page) = read(&tools, arguments).await;
        assert!(!page.contains('\u{fffd}') && !page.is_empty());
        whole += &page;
        if head.contains("the end of the file") {
            break;
        }
        assert!(head.contains(&format!("Read on with byte_offset={}.", whole.len())));
    }
    assert!(whole == content);
    let (head, page) = read(
        &tools,
        json!({ "path": "line", "byte_offset": 4, "byte_limit": 1 }),
    )
    .await;
    assert_eq!(
        (page.as_str(), head.contains("bytes 7 to 7")),
        ("", true),
        "{head}"
    );
    let arguments = json!({ "path": "line", "byte_offset": 1, "limit": 1 });
    assert!(run(&tools, "read_file", arguments).await.is_err());
}

#[tokio::test]
async fn empty_missing_and_forbidden_files_are_said_to_be_so_r9() {
    let (_, tools) = holding(&[("empty", ""), ("dir/a", "x")]).await;
    let text = run(&tools, "read_file", json!({ "path": "empty" })).await;
    assert_eq!(text.unwrap(), "[`empty` is empty.]");
    for (wrong, said) in [
        ("none", "there is no file `none`"),
        ("dir", "`dir` is a folder, not a file"),
        ("../x", "`..` is not allowed"),
        ("/etc/passwd", "it must be relative"),
    ] {
        let error = run(&tools, "read_file", json!({ "path": wrong })).await;
        let error = error.unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_model_lists_files_in_pages_r9() {
    let (store, tools) = holding(&[]).await;
    let list = async |arguments| run(&tools, "list_files", arguments).await.unwrap();
    assert_eq!(list(json!({})).await, "There are no files.");
    for file in 0..450 {
        let file = path(&format!("many/{file:03}.txt"));
        store
            .write(&file, Bytes::from_static(b"abc"))
            .await
            .unwrap();
    }
    store.write(&path("other"), Bytes::new()).await.unwrap();
    let first = list(json!({})).await;
    assert!(first.starts_with(
        "200 of 451 files; for more, list with offset=200:\nmany/000.txt (3 bytes)\n"
    ));
    let last = list(json!({ "offset": 400 })).await;
    assert!(last.starts_with("51 of 451 files:\nmany/400.txt"), "{last}");
    let folder = list(json!({ "folder": "many/", "offset": 449 })).await;
    assert_eq!(folder, "1 of 450 files:\nmany/449.txt (3 bytes)\n");
    assert_eq!(
        list(json!({ "folder": "none" })).await,
        "There are no files."
    );
}

#[tokio::test]
async fn a_model_searches_files_with_bounded_output_r9() {
    let minified = format!("{}needle{}", "é".repeat(500_000), "x".repeat(500_000));
    let hay: String = (1..=1_000).map(|line| format!("hay {line}\n")).collect();
    let (_, tools) = holding(&[
        ("a.txt", "one\ntwo needle\r\n\nneedle needle\n"),
        ("b/min.json", &minified),
        ("hay.txt", &hay),
    ])
    .await;
    let search = async |arguments| run(&tools, "search_files", arguments).await;
    let found = search(json!({ "pattern": "needle" })).await.unwrap();
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0], "a.txt:2 (byte 8): two needle");
    assert_eq!(lines[1], "a.txt:4 (byte 17): needle needle");
    assert!(lines[2].starts_with("b/min.json:1 (byte 1000000): …éé"));
    assert!(lines[2].ends_with("x…") && lines[2].chars().count() < 300);
    assert_eq!(lines.len(), 3);

    let page = search(json!({ "pattern": "hay", "path": "hay.txt", "offset": 50 }))
        .await
        .unwrap();
    assert!(page.starts_with("hay.txt:51 (byte "), "{page}");
    assert!(page.ends_with("\n[There are more matches: search with offset=100.]"));
    assert_eq!(page.lines().count(), 51);
    let last = search(json!({ "pattern": "hay", "offset": 950 }))
        .await
        .unwrap();
    assert_eq!(last.lines().count(), 50);
    let none = search(json!({ "pattern": "hay", "offset": 1_000 }))
        .await
        .unwrap();
    assert_eq!(none, "There are no more than 1000 matches.");

    let regex = json!({ "pattern": "(?i)^HAY 9[0-9]$", "regex": true });
    assert_eq!(search(regex).await.unwrap().lines().count(), 10);
    for (pattern, matches) in [("$", 4), ("x*", 4), ("", 0), ("\\n", 4)] {
        let found = search(json!({ "pattern": pattern, "regex": true, "path": "a.txt" })).await;
        assert_eq!(
            found.map_or(0, |found| found.lines().count()),
            matches,
            "{pattern}"
        );
    }
    let nothing = search(json!({ "pattern": ".*", "path": "a.txt" }))
        .await
        .unwrap();
    assert_eq!(nothing, "Nothing was found.");
    let error = search(json!({ "pattern": "(", "regex": true }))
        .await
        .unwrap_err();
    assert!(error.contains("no regular expression"), "{error}");
    let error = search(json!({ "pattern": "a", "path": "c" }))
        .await
        .unwrap_err();
    assert_eq!(error, "there is no file and no folder `c`");
}

#[tokio::test]
async fn a_file_is_read_before_it_is_overwritten_or_edited_r9() {
    let (store, tools) = holding(&[("old.txt", "a b a 🦀")]).await;
    let write = json!({ "path": "old.txt", "content": "new" });
    let edit =
        |old: &str, new: &str| json!({ "path": "old.txt", "old_text": old, "new_text": new });
    for (tool, arguments) in [("write_file", write.clone()), ("edit_file", edit("b", "c"))] {
        let error = run(&tools, tool, arguments).await.unwrap_err();
        assert!(error.contains("was not read in this chat"), "{error}");
    }
    assert_eq!(store.read(&path("old.txt")).await.unwrap(), "a b a 🦀");

    run(&tools, "read_file", json!({ "path": "old.txt" }))
        .await
        .unwrap();
    let error = run(&tools, "edit_file", edit("a", "c")).await.unwrap_err();
    assert!(error.contains("more than once"), "{error}");
    let error = run(&tools, "edit_file", edit("z", "c")).await.unwrap_err();
    assert!(error.contains("is not in"), "{error}");
    assert!(run(&tools, "edit_file", edit("", "c")).await.is_err());
    run(&tools, "edit_file", edit("b a 🦀", "$1"))
        .await
        .unwrap();
    assert_eq!(store.read(&path("old.txt")).await.unwrap(), "a $1");
    run(&tools, "write_file", write).await.unwrap();
    assert_eq!(store.read(&path("old.txt")).await.unwrap(), "new");

    let new = json!({ "path": "deep/new.txt", "content": "1" });
    run(&tools, "write_file", new.clone()).await.unwrap();
    run(&tools, "write_file", new).await.unwrap();
    let edit = json!({ "path": "none", "old_text": "a", "new_text": "b" });
    let error = run(&tools, "edit_file", edit).await.unwrap_err();
    assert_eq!(error, "there is no file `none`");
    let escape = json!({ "path": "../x", "content": "1" });
    assert!(run(&tools, "write_file", escape).await.is_err());
}

#[tokio::test]
async fn what_one_chat_has_read_another_has_not_r9() {
    let (_, tools) = holding(&[("a", "1")]).await;
    let write = json!({ "path": "a", "content": "2" });
    let model = ScriptedModel::new()
        .call("read_file", json!({ "path": "a" }))
        .text("read");
    let mut reader = Chat::new(model).with_tools(tools.clone());
    reader.ask("read").await.unwrap();
    let model = ScriptedModel::new()
        .call("write_file", write)
        .text("failed");
    let mut writer = Chat::new(model).with_tools(tools);
    writer.ask("write").await.unwrap();
    let Message::Tool(result) = &writer.messages()[2] else {
        panic!("no result");
    };
    assert!(result.is_error() && result.text.contains("not read in this chat"));
}

#[tokio::test]
async fn edits_at_the_same_time_all_count_r9() {
    let content: String = (0..50).map(|line| format!("<{line}>\n")).collect();
    let folder = Folder::new();
    let store = folder.store();
    store.write(&path("a"), content.into()).await.unwrap();
    let tools = FileTools::new(store.clone()).writable().tools();
    run(&tools, "read_file", json!({ "path": "a" }))
        .await
        .unwrap();
    let mut edits = tokio::task::JoinSet::new();
    for line in 0..50 {
        let tools = tools.clone();
        let edit = json!({ "path": "a", "old_text": format!("<{line}>"), "new_text": "done" });
        edits.spawn(async move { run(&tools, "edit_file", edit).await.unwrap() });
    }
    edits.join_all().await;
    assert_eq!(store.read(&path("a")).await.unwrap(), "done\n".repeat(50));
}

#[test]
fn the_tools_over_files_never_spill_r9() {
    let tools = FileTools::new(MemoryStore::new()).writable().tools();
    assert_eq!(tools.len(), 5);
    for tool in tools.iter() {
        assert_eq!(tool.definition().spill_to_file(), Some(Spill::Never));
    }
}

#[tokio::test]
async fn a_match_is_where_it_is_said_to_be_also_beside_bytes_that_are_no_text_r9() {
    let (store, tools) = holding(&[]).await;
    let content = Bytes::from_static(b"\xff\xfe\xff bin \xf0\x9f needle");
    let at = content.len() - "needle".len();
    store.write(&path("bin"), content).await.unwrap();
    let found = run(&tools, "search_files", json!({ "pattern": "needle" }))
        .await
        .unwrap();
    assert!(found.starts_with(&format!("bin:1 (byte {at})")), "{found}");
    let page = run(
        &tools,
        "read_file",
        json!({ "path": "bin", "byte_offset": at }),
    )
    .await
    .unwrap();
    assert!(page.contains("needle"), "{page}");
}
