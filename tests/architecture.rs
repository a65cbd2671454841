//! The house: arrows point one way, core has no transport and no database, no file outgrows its room.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Longest file, in lines. Split before it is reached.
const LONGEST: usize = 600;

/// The floors of tool-core, lowest first. A room may use its own floor and those below.
const FLOORS: [&[&str]; 5] = [
    &[
        "attachment",
        "call",
        "error",
        "input",
        "message",
        "schema",
        "transaction",
        "transcript",
        "usage",
    ],
    &["tool", "model", "files", "store"],
    &["run"],
    &["chat", "testing", "__private"],
    &["agent"],
];

fn sources(package: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => walk(&path, found),
                Some(extension) if extension == "rs" => found.push(path),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(ROOT).join(package).join("src"), &mut found);
    assert!(!found.is_empty(), "no sources of {package}");
    found
}

/// The text without comments and documentation.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What follows each `crate::` in the text: `{A, b::C}` is `A` and `b`.
fn names_of_the_crate(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, prefix) in text.match_indices("crate::") {
        let rest = &text[at + prefix.len()..];
        let group = match rest.strip_prefix('{') {
            Some(group) => {
                let mut depth = 1;
                let end = group.find(|character| {
                    depth += match character {
                        '{' => 1,
                        '}' => -1,
                        _ => 0,
                    };
                    depth == 0
                });
                &group[..end.unwrap()]
            }
            None => {
                &rest[..rest
                    .find(|character: char| !character.is_alphanumeric() && character != '_')
                    .unwrap_or(rest.len())]
            }
        };
        let mut depth = 0;
        let mut name = String::new();
        for character in group.chars().chain([',']) {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let first = name
                        .split("::")
                        .next()
                        .unwrap_or_default()
                        .trim()
                        .to_owned();
                    if !first.is_empty() {
                        names.insert(first);
                    }
                    name.clear();
                }
                _ => name.push(character),
            }
        }
    }
    names
}

/// In which room of tool-core each name at its root lives.
fn homes() -> BTreeMap<String, String> {
    let text = code(&Path::new(ROOT).join("tool-core/src/lib.rs"));
    let mut homes = BTreeMap::new();
    for statement in text.split(';') {
        let Some((_, path)) = statement.split_once("pub use ") else {
            continue;
        };
        let Some((room, names)) = path.split_once("::") else {
            continue;
        };
        for name in names.trim_matches(['{', '}', ' ', '\n']).split(',') {
            homes.insert(name.trim().to_owned(), room.trim().to_owned());
        }
    }
    homes
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

#[test]
fn the_arrows_of_tool_core_point_down() {
    let homes = homes();
    let source = Path::new(ROOT).join("tool-core/src");
    let mut wrong = Vec::new();
    for path in sources("tool-core") {
        let inside = path.strip_prefix(&source).unwrap();
        let room = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs");
        if room == "lib" {
            continue;
        }
        let own =
            floor(room).unwrap_or_else(|| panic!("{room} stands on no floor: add it to FLOORS"));
        for name in names_of_the_crate(&code(&path)) {
            let home = homes.get(&name).map_or(name.as_str(), String::as_str);
            let Some(other) = floor(home) else { continue };
            if other > own {
                wrong.push(format!("{} uses `{name}` of {home}", inside.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows that point up:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_check_of_arrows_sees_groups_and_paths() {
    let names =
        names_of_the_crate("use crate::{A, b::{C, D}, e::F};\nfn f() -> crate::model::G {}");
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["A", "b", "e", "model"]
    );
    assert_eq!(homes()["ToolSet"], "tool");
    assert_eq!(homes()["Chat"], "chat");
}

#[test]
fn packages_depend_on_each_other_one_way() {
    let dependencies = |package: &str| {
        let manifest =
            fs::read_to_string(Path::new(ROOT).join(package).join("Cargo.toml")).unwrap();
        let normal = manifest
            .split("[dev-dependencies]")
            .next()
            .unwrap()
            .to_owned();
        let ours = ["tool-core", "tool-macros", "tool-providers"];
        let depends = |other: &&str| {
            normal.lines().any(|line| {
                line.starts_with(&format!("{other}.")) || line.starts_with(&format!("{other} ="))
            })
        };
        ours.into_iter().filter(depends).collect::<Vec<_>>()
    };
    assert_eq!(dependencies("tool-macros"), Vec::<&str>::new());
    assert_eq!(dependencies("tool-core"), ["tool-macros"]);
    assert_eq!(dependencies("tool-providers"), ["tool-core"]);
}

#[test]
fn core_has_no_transport_and_no_database_in_its_default_tree() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--package",
            "tool-core",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8(output.stdout).unwrap();
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.contains("serde_json"));
    for banned in [
        "hyper",
        "reqwest",
        "rustls",
        "h2",
        "rusqlite",
        "sqlx",
        "sqlx-core",
        "tokio-postgres",
        "mio",
        "socket2",
    ] {
        assert!(
            !names.contains(banned),
            "{banned} is in the default tree of tool-core"
        );
    }
}

#[test]
fn a_protocol_does_no_io_and_knows_no_vendor() {
    let folder = Path::new(ROOT).join("tool-providers/src/protocol");
    let files = sources("tool-providers")
        .into_iter()
        .filter(|path| path.starts_with(&folder));
    for path in files {
        let code = code(&path).to_lowercase();
        for banned in [
            "hyper",
            "tokio",
            "std::net",
            "std::fs",
            "std::env",
            "crate::http",
            "crate::provider",
        ] {
            assert!(
                !code.contains(banned),
                "{} mentions {banned}",
                path.display()
            );
        }
    }
}

#[test]
fn no_file_outgrows_its_room() {
    for package in ["tool-core", "tool-macros", "tool-providers"] {
        for path in sources(package) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(
                lines <= LONGEST,
                "{} has {lines} lines; split it",
                path.display()
            );
        }
    }
    for entry in fs::read_dir(Path::new(ROOT).join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 60, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn the_program_of_the_readme_is_the_example() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let program = readme
        .split("```rust\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let example = fs::read_to_string(Path::new(ROOT).join("examples/weather.rs")).unwrap();
    let (run_line, rest) = example.split_once('\n').unwrap();
    assert_eq!(run_line, "//! cargo run --example weather");
    assert_eq!(program, rest);
}
