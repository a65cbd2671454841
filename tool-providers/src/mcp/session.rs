//! A server over the lives of its connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::Connection;
use super::remote::McpServer;
use super::running::Running;
use super::{McpError, McpErrorKind};

/// A connection that ends sooner has failed.
const SHORT: Duration = Duration::from_secs(5);

/// How long a server rests that failed twice; after that, twice as long each time.
const REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// How many calls may wait for an answer of the user at once.
const MOST_PARKED: usize = 64;

/// What the tools of a server share. The connection ends with it.
pub(super) struct Session {
    pub(super) server: McpServer,
    pub(super) label: String,
    link: tokio::sync::Mutex<Link>,
    /// Calls that wait for an answer of the user, by their keys.
    parked: Mutex<Vec<(String, Running)>>,
}

/// The connection, and how it went with those before.
struct Link {
    connection: Option<Arc<Connection>>,
    failures: u32,
    rests_until: Option<Instant>,
}

impl Session {
    pub(super) async fn open(server: McpServer) -> Result<Self, McpError> {
        let connection = Connection::open(&server).await?;
        let label = match (&server.label, connection.name()) {
            (None, Some(name)) if !name.is_empty() => name,
            _ => server.provisional_label(),
        };
        Ok(Session {
            server,
            label,
            link: tokio::sync::Mutex::new(Link {
                connection: Some(Arc::new(connection)),
                failures: 0,
                rests_until: None,
            }),
            parked: Mutex::default(),
        })
    }

    /// The connection; a new one where the last has ended.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut link = self.link.lock().await;
        if let Some(connection) = &link.connection {
            if connection.is_alive() {
                return Ok(connection.clone());
            }
            match connection.since.elapsed() < SHORT {
                true => link.fail(),
                false => link.failures = 0,
            }
            link.connection = None;
        }
        let rest = link.rest();
        if !rest.is_zero() {
            let label = &self.label;
            let text = format!(
                "the MCP server `{label}` failed a moment ago; it is tried again in {rest:.1?}"
            );
            return Err(McpError::new(McpErrorKind::Resting, text));
        }
        match Connection::open(&self.server).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                link.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                link.fail();
                Err(error)
            }
        }
    }

    /// Keeps a call while the user is asked.
    pub(super) fn park(&self, key: String, running: Running) {
        let mut parked = self.parked();
        parked.retain(|(other, _)| *other != key);
        if parked.len() == MOST_PARKED {
            parked.remove(0);
        }
        parked.push((key, running));
    }

    /// Gives back a call that waits for the user still.
    pub(super) fn unpark(&self, key: &str) -> Option<Running> {
        let mut parked = self.parked();
        let at = parked.iter().position(|(other, _)| other == key)?;
        let (_, mut running) = parked.remove(at);
        drop(parked);
        running.waits().then_some(running)
    }

    fn parked(&self) -> MutexGuard<'_, Vec<(String, Running)>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    fn fail(&mut self) {
        self.failures += 1;
        // The first time it is tried again at once.
        self.rests_until = match self.failures {
            1 => None,
            failures => {
                let rest = REST * 2_u32.saturating_pow((failures - 2).min(10));
                Some(Instant::now() + rest.min(LONGEST_REST))
            }
        };
    }

    fn rest(&self) -> Duration {
        let until = self.rests_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }
}
