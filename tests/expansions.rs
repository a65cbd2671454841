//! The generated code of a few typical tools, so that a change of it is seen in review. `EXPANSIONS=overwrite` writes
//! what is there now.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const TOOLS: &[&str] = &["nothing", "weather", "issue_refund", "export"];

#[test]
fn generated_code_is_what_was_reviewed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = expansions(root);
    for tool in TOOLS {
        let begin = format!("// The expansion of `{tool}`:\n");
        let end = format!("\n// End of `{tool}`.");
        let code = printed
            .split_once(&begin)
            .and_then(|(_, rest)| rest.split_once(&end));
        let (code, _) = code.unwrap_or_else(|| panic!("no expansion of `{tool}` in:\n{printed}"));
        let formatted = format(code);
        let file = root.join("tests/expansions").join(format!("{tool}.rs"));
        if std::env::var_os("EXPANSIONS").is_some() {
            std::fs::write(&file, &formatted).expect("a snapshot");
        }
        let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(
            formatted,
            reviewed,
            "{} is out of date: run with `EXPANSIONS=overwrite`",
            file.display()
        );
    }
}

/// What the macro prints while it expands the program `expanded`.
fn expansions(root: &Path) -> String {
    let programs = root.join("tests/crates");
    std::fs::copy(root.join("Cargo.lock"), programs.join("Cargo.lock")).expect("a lock file");
    let cargo = |verb: &[&str]| {
        Command::new(env!("CARGO"))
            .args(verb)
            .args(["--offline", "--color", "never", "--package", "expanded"])
            .current_dir(&programs)
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("crates"),
            )
            .env("TOOL_MACROS_PRINT", "1")
            .output()
            .expect("cargo runs")
    };
    // Cargo prints nothing for what it does not compile again.
    cargo(&["clean"]);
    let output = cargo(&["check"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn format(code: &str) -> String {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=160"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt runs");
    // The compiler prints some paths with blanks, which rustfmt keeps in long lines.
    let code = code
        .replace("\n::", " ::")
        .replace(":: ", "::")
        .replace("core ::", "core::");
    rustfmt
        .stdin
        .take()
        .expect("a pipe")
        .write_all(code.as_bytes())
        .expect("rustfmt reads");
    let output = rustfmt.wait_with_output().expect("rustfmt ends");
    String::from_utf8(output.stdout).expect("text")
}
