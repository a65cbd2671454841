//! Servers of the Model Context Protocol: those of others, which `scripts/test` installs, and one that does
//! what a test wants, which is the test program itself.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tool_core::testing::ScriptedModel;
use tool_core::{Chat, Progress};
use tool_providers::mcp::McpServer;

/// The program of a server from the npm registry, by the name of its package.
pub fn node_script(package: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TOOL_MCP_SERVERS") else {
        eprintln!(
            "skipped: set TOOL_MCP_SERVERS to the folder of node_modules, as scripts/test does"
        );
        return None;
    };
    let script = PathBuf::from(folder)
        .join("node_modules/@modelcontextprotocol")
        .join(package)
        .join("dist/index.js");
    assert!(script.exists(), "{} is missing", script.display());
    Some(script)
}

/// A server from the npm registry, over its pipes.
pub fn node(package: &str, arguments: &[&str]) -> Option<McpServer> {
    let mut command = vec![node_script(package)?.into_os_string()];
    command.extend(arguments.iter().map(Into::into));
    Some(McpServer::command("node", command))
}

/// The Python that has the `mcp` package.
pub fn python() -> Option<PathBuf> {
    let python = std::env::var_os("TOOL_MCP_PYTHON").map(PathBuf::from);
    if python.is_none() {
        eprintln!(
            "skipped: set TOOL_MCP_PYTHON to a Python with the mcp package, as scripts/test does"
        );
    }
    python
}

/// This test program as a server: it runs the ignored test `name`.
pub fn ourselves(name: &str) -> McpServer {
    let program = std::env::current_exe().unwrap();
    McpServer::command(program, [name, "--exact", "--ignored", "--nocapture"]).named("ours")
}

/// A folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("mcp")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// A line to a server's process, over which it says what happens to it, and that ends with it.
pub struct Line {
    listener: TcpListener,
}

impl Line {
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Line { listener }
    }

    pub fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// The next process that picks up.
    pub async fn pick_up(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }
}

/// Waits until the process at the other end is gone.
pub async fn hung_up(mut line: TcpStream) {
    let mut rest = Vec::new();
    // A process that is killed may reset the connection.
    let _ = line.read_to_end(&mut rest).await;
}

/// A chat whose progress is written down.
pub fn watched(model: ScriptedModel) -> (Chat, Arc<std::sync::Mutex<Vec<Progress>>>) {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = seen.clone();
    let chat = Chat::new(model)
        .after_tool_progress(move |progress| sink.lock().unwrap().push(progress.clone()));
    (chat, seen)
}
