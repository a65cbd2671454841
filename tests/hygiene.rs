//! M9: the macro in programs that are unlike this one; M5: schemas in files. The programs are in `tests/crates`.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// What cargo says of one of the programs, and whether it is satisfied.
fn cargo(verb: &str, program: &str) -> (bool, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = root.join("tests/crates");
    // The versions of this repository, so that nothing has to be downloaded.
    static LOCK: Once = Once::new();
    LOCK.call_once(|| {
        std::fs::copy(root.join("Cargo.lock"), programs.join("Cargo.lock")).expect("a lock file");
    });
    let output = Command::new(env!("CARGO"))
        .args([verb, "--offline", "--color", "never", "--package", program])
        .current_dir(programs)
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("crates"),
        )
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), text)
}

fn passes(verb: &str, program: &str) {
    let (is_satisfied, text) = cargo(verb, program);
    assert!(is_satisfied && !text.contains("warning"), "{text}");
}

#[test]
fn m9_b10_the_dependency_may_be_renamed() {
    passes("check", "renamed");
    passes("check", "renamed_in_workspace");
}

#[test]
fn m9_b11_there_may_be_no_other_dependency() {
    passes("check", "only_ours");
}

#[test]
fn m9_there_may_be_no_prelude_and_other_meanings_of_every_name() {
    passes("check", "no_prelude");
}

#[test]
fn m9_b19_no_lint_is_triggered() {
    passes("check", "denied_lints");
    passes("clippy", "denied_lints");
}

#[test]
fn m9_macros_may_make_tools() {
    passes("check", "macro_rules");
}

#[test]
fn m5_a_schema_may_be_in_a_file() {
    passes("check", "schema_file");
}

#[test]
fn m5_a_mistake_in_a_file_is_reported_with_its_line() {
    let (is_satisfied, text) = cargo("check", "wrong_schema_file");
    assert!(!is_satisfied);
    for expected in [
        "error: `schemas/search.json`, line 4: `query` is `String` in Rust, but the schema says `\"integer\"`: write `\"string\"`, or change the parameter",
        "error: `schemas/search.json`, line 5: no parameter is called `limits`: did you mean `limit`?",
        "error: `schemas/broken.json`, line 4: a comma before `}` is not JSON",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(text.matches("error: `schemas/").count(), 3, "{text}");
}
