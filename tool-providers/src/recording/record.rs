//! Writing what is asked and answered.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::{HeaderMap, Request, Response};
use tool_core::ModelError;

use super::configuration;
use super::exchange::{Answered, Asked, Exchange, Recording};
use crate::http::{Answer, Heard, HttpClient, Pieces};
use crate::secret::Secrets;

/// A file that is written while requests are answered.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they were asked; `None`: there is no answer yet.
    exchanges: Vec<Option<Exchange>>,
    /// Why the file could not be written.
    failed: Option<String>,
    was_tried: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} exchanges", self.exchanges.len())
    }
}

impl Recorder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Recorder {
            path,
            state: Mutex::default(),
        }
    }

    /// Sends a request; the exchange is written when the answer was read.
    pub(super) async fn send(
        self: &Arc<Self>,
        http: &HttpClient,
        request: Request<Pieces>,
        secrets: &Arc<Secrets>,
    ) -> Result<Response<Answer>, ModelError> {
        let position = self.begin()?;
        let asked = Asked::of(&request).without(secrets);
        let (head, answer) = http.send(request).await?.into_parts();
        let mut take = Take {
            recorder: self.clone(),
            position,
            asked: Some(asked),
            status: head.status.as_u16(),
            headers: head.headers.clone(),
            heard: Vec::new(),
            secrets: secrets.clone(),
        };
        let answer = answer.heard_by(Box::new(move |heard| match heard {
            Heard::Piece(piece) => {
                take.heard.extend_from_slice(piece);
                Ok(())
            }
            Heard::End => take.end(false),
        }));
        Ok(Response::from_parts(head, answer))
    }

    /// Makes room for an exchange. That the file cannot be written is said before anything is asked.
    fn begin(&self) -> Result<usize, ModelError> {
        let mut state = self.lock();
        if !state.was_tried {
            state.was_tried = true;
            state.failed = self.try_folder().err().map(|error| error.to_string());
        }
        self.failure(&state)?;
        state.exchanges.push(None);
        Ok(state.exchanges.len() - 1)
    }

    fn keep(&self, position: usize, exchange: Exchange) -> Result<(), ModelError> {
        let mut state = self.lock();
        if let Some(place) = state.exchanges.get_mut(position) {
            *place = Some(exchange);
        }
        let exchanges: Vec<&Exchange> = state.exchanges.iter().flatten().collect();
        let written = self.write(&Recording { exchanges });
        state.failed = written.err().map(|error| error.to_string());
        self.failure(&state)
    }

    fn failure(&self, state: &State) -> Result<(), ModelError> {
        match &state.failed {
            None => Ok(()),
            Some(why) => {
                let path = self.path.display();
                let text = format!("the recording {path} cannot be written: {why}");
                Err(configuration(text))
            }
        }
    }

    fn try_folder(&self) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let draft = self.draft()?;
        fs::write(&draft, "")?;
        fs::remove_file(draft)
    }

    /// The file is replaced at once, so that it is whole at any time.
    fn write(&self, recording: &Recording<Vec<&Exchange>>) -> io::Result<()> {
        let draft = self.draft()?;
        let mut text = serde_json::to_vec_pretty(recording)?;
        text.push(b'\n');
        fs::write(&draft, text)?;
        fs::rename(draft, &self.path)
    }

    fn draft(&self) -> io::Result<PathBuf> {
        let Some(name) = self.path.file_name() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it has no name",
            ));
        };
        let mut draft = name.to_owned();
        draft.push(format!(".{}.part", std::process::id()));
        Ok(self.path.with_file_name(draft))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One exchange while its answer is read.
struct Take {
    recorder: Arc<Recorder>,
    position: usize,
    /// `None`: it was written.
    asked: Option<Asked>,
    status: u16,
    headers: HeaderMap,
    heard: Vec<u8>,
    secrets: Arc<Secrets>,
}

impl Take {
    fn end(&mut self, broken: bool) -> Result<(), ModelError> {
        let Some(request) = self.asked.take() else {
            return Ok(());
        };
        let answered = Answered::new(self.status, &self.headers, &self.heard, &self.secrets);
        let response = Answered { broken, ..answered };
        let exchange = Exchange { request, response };
        self.recorder.keep(self.position, exchange)
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        // What fails here is said by the next request.
        let _ = self.end(true);
    }
}
