//! Answering from a file.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, Response, StatusCode};
use tool_core::ModelError;

use super::configuration;
use super::difference::Difference;
use super::exchange::{Asked, Exchange, Recording};
use crate::http::{Answer, Pieces};
use crate::secret::Secrets;

/// A recording that answers requests. Clones share what is left of it.
///
/// ```no_run
/// use tool_providers::{OpenAi, Replay};
///
/// let replay = Replay::from("tests/weather.json");
/// let model = OpenAi::new("any").replay_from(&replay).model("gpt-5-mini");
/// // … what is tested …
/// replay.finish()?;
/// # Ok::<_, tool_core::ModelError>(())
/// ```
#[derive(Clone)]
pub struct Replay(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// What is in the file, or why it cannot be read.
    exchanges: Result<Vec<Exchange>, String>,
    used: Mutex<Vec<bool>>,
}

impl Replay {
    fn read(path: PathBuf) -> Self {
        let exchanges = fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                serde_json::from_slice::<Recording>(&text).map_err(|error| error.to_string())
            })
            .map(|recording| recording.exchanges)
            .map_err(|why| format!("the recording {} cannot be read: {why}", path.display()));
        let count = exchanges.as_ref().map_or(0, Vec::len);
        Replay(Arc::new(Inner {
            path,
            exchanges,
            used: Mutex::new(vec![false; count]),
        }))
    }

    /// How many exchanges were not asked for yet.
    pub fn remaining(&self) -> usize {
        self.used().iter().filter(|used| !**used).count()
    }

    /// Says whether all of it was asked for.
    ///
    /// # Errors
    ///
    /// It was not, or the file cannot be read.
    pub fn finish(&self) -> Result<(), ModelError> {
        let exchanges = self.exchanges()?;
        let left = self.remaining();
        let Some(first) = self.used().iter().position(|used| !used) else {
            return Ok(());
        };
        let (path, count) = (self.0.path.display(), exchanges.len());
        Err(configuration(format!(
            "{left} of the {count} exchanges of {path} were never asked for, the first of them is \
             number {}",
            first + 1
        )))
    }

    /// The answer to a request: that of the first unused exchange with this request.
    pub(super) fn send(
        &self,
        request: Request<Pieces>,
        secrets: &Secrets,
    ) -> Result<Response<Answer>, ModelError> {
        let exchanges = self.exchanges()?;
        let now = Asked::of(&request);
        let mut used = self.used();
        let mut first = None;
        for (position, exchange) in exchanges.iter().enumerate() {
            if used.get(position).is_none_or(|used| *used) {
                continue;
            }
            match Difference::of(&exchange.request, &now) {
                None => {
                    used[position] = true;
                    return Ok(answer(exchange, secrets));
                }
                Some(difference) => {
                    first.get_or_insert((position + 1, difference));
                }
            }
        }
        let path = self.0.path.display();
        Err(configuration(match first {
            Some((number, difference)) => format!(
                "the request is not that of exchange {number} of {path}, {difference}; if it should \
                 be so, record it anew"
            ),
            None => format!(
                "all {} exchanges of {path} were replayed, and there is one more request; if it \
                 should be so, record it anew",
                exchanges.len()
            ),
        }))
    }

    fn exchanges(&self) -> Result<&[Exchange], ModelError> {
        let exchanges = self.0.exchanges.as_ref();
        exchanges.map(Vec::as_slice).map_err(configuration)
    }

    fn used(&self) -> MutexGuard<'_, Vec<bool>> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(exchange: &Exchange, secrets: &Secrets) -> Response<Answer> {
    let recorded = &exchange.response;
    let headers = recorded.headers.iter().filter_map(|(name, value)| {
        let value = secrets.restore(value, false);
        let value = HeaderValue::try_from(value).ok()?;
        Some((HeaderName::try_from(name).ok()?, value))
    });
    let headers: HeaderMap = headers.collect();
    let status = StatusCode::from_u16(recorded.status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Answer::kept(recorded.bytes(secrets), recorded.broken));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

impl From<PathBuf> for Replay {
    fn from(path: PathBuf) -> Self {
        Replay::read(path)
    }
}

impl From<&Path> for Replay {
    fn from(path: &Path) -> Self {
        Replay::read(path.to_owned())
    }
}

impl From<&str> for Replay {
    fn from(path: &str) -> Self {
        Replay::read(path.into())
    }
}

impl From<String> for Replay {
    fn from(path: String) -> Self {
        Replay::read(path.into())
    }
}

impl From<&Replay> for Replay {
    fn from(replay: &Replay) -> Self {
        replay.clone()
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("path", &self.0.path)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
