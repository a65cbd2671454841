//! A bar on the terminal while the model is fetched.

use std::io::{IsTerminal, Write};

/// A bar on standard error; where that is no terminal, one line at the start and one at the end.
pub(super) struct Bar {
    what: &'static str,
    total: u64,
    drawn: bool,
    shown: Option<u64>,
}

impl Bar {
    pub(super) fn start(what: &'static str, total: u64) -> Self {
        let mut bar = Bar {
            what,
            total,
            drawn: std::io::stderr().is_terminal(),
            shown: None,
        };
        if bar.drawn {
            bar.set(0);
        } else {
            say(&format!("{what} ({} MB)\n", total / 1_000_000));
        }
        bar
    }

    pub(super) fn set(&mut self, done: u64) {
        let percent = (done * 100 / self.total).min(100);
        if self.drawn && self.shown != Some(percent) {
            self.shown = Some(percent);
            say(&self.line(percent));
        }
    }

    pub(super) fn finish(mut self, success: bool) {
        match (self.drawn, success) {
            (true, true) => {
                self.set(self.total);
                say("\n");
            }
            (true, false) => say("\n"),
            (false, true) => say("fetched the embedded model\n"),
            (false, false) => say("could not fetch the embedded model\n"),
        }
    }

    fn line(&self, percent: u64) -> String {
        const WIDTH: usize = 30;
        let full = WIDTH * percent as usize / 100;
        let megabytes = self.total / 1_000_000;
        format!(
            "\r{} [{}{}] {percent:3} % of {megabytes} MB",
            self.what,
            "#".repeat(full),
            ".".repeat(WIDTH - full)
        )
    }
}

/// A closed standard error is no reason to fail.
fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}
