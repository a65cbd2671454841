//! A server that is a process, which does not outlive what uses it.

use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::remote::Program;

/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// How much is kept of what a server writes for people.
const LAST_WORDS: usize = 2_000;

/// The variables without which programs do not run.
const VARIABLES: [&str; 24] = [
    "APPDATA",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LC_ALL",
    "LOCALAPPDATA",
    "LOGNAME",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SHELL",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "USERPROFILE",
];

/// The end of what a server wrote for people.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    async fn listen(self, mut stderr: impl AsyncRead + Unpin) {
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = stderr.read(&mut piece).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&piece[..length]);
            let surplus = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..surplus);
        }
    }
}

/// A process and its pipes.
pub(super) struct Child {
    pipes: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    process: Process,
}

/// A process, killed when it is dropped, with all that it has started.
struct Process(Box<dyn ChildWrapper>);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended, and those that it has started not.
        let _ = self.0.start_kill();
    }
}

impl Child {
    pub(super) fn start(program: &Program) -> io::Result<(Self, LastWords)> {
        let mut command = Command::new(&program.name);
        command.args(&program.arguments);
        if !program.inherits {
            command.env_clear();
            let inherited = VARIABLES.iter().filter_map(|name| {
                let value = std::env::var_os(name)?;
                Some((name, value))
            });
            command.envs(inherited);
        }
        command.envs(program.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &program.directory {
            command.current_dir(directory);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let mut process = Process(command.spawn()?);
        let missing = || io::Error::other("the process has no pipes");
        let stdin = process.0.stdin().take().ok_or_else(missing)?;
        let stdout = process.0.stdout().take().ok_or_else(missing)?;
        let last_words = LastWords::default();
        if let Some(stderr) = process.0.stderr().take() {
            tokio::spawn(last_words.clone().listen(stderr));
        }
        let pipes = AsyncRwTransport::new(stdout, stdin);
        Ok((Child { pipes, process }, last_words))
    }
}

impl Transport<RoleClient> for Child {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.pipes.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.pipes.receive().await
    }

    /// The end of its input tells a server to end. One that does not is killed.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.pipes.close().await?;
        let ended = timeout(GRACE, self.process.0.wait()).await;
        let _ = self.process.0.start_kill();
        if ended.is_err() {
            self.process.0.wait().await?;
        }
        Ok(())
    }
}
