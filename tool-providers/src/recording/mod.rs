//! Real traffic, kept in a file and played again.
//!
//! [`Provider::record_to`](crate::Provider::record_to) writes what is asked and answered to a file,
//! without keys; [`Provider::replay_from`](crate::Provider::replay_from) answers from it, without a
//! network, and fails where the requests of a program are no longer those that were recorded. What is
//! switched by a variable of your own is a test that records when it is told to:
//!
//! ```no_run
//! use tool_core::Chat;
//! use tool_providers::{OpenAi, Replay};
//!
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! let replay = Replay::from("tests/weather.json");
//! let provider = match std::env::var_os("RECORD") {
//!     Some(_) => OpenAi::from_env()?.record_to("tests/weather.json"),
//!     None => OpenAi::new("any").replay_from(&replay),
//! };
//! let mut chat = Chat::new(provider.model("gpt-5-mini"));
//! chat.ask("What is the weather in Paris?").await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The file
//!
//! ```json
//! { "exchanges": [ {
//!     "request": { "method": "POST", "path": "/v1/responses", "body": { "model": "gpt-5-mini" } },
//!     "response": { "status": 200, "headers": { "content-type": "application/json" }, "body": {} }
//! } ] }
//! ```
//!
//! A body is JSON where it is an object or an array, else text. Each attempt of a request is an
//! exchange of its own; one that was never answered is none. `"broken": true` says that the answer
//! was not read to its end: the connection broke, or the request was given up.
//!
//! Headers of requests are not kept. Of those of answers, only the type of the content, the ids, and
//! what is said of another attempt are. The key, the values of headers and of the query of an address,
//! the password of a proxy, and what is given for a [`RemoteMcp`](tool_core::model::RemoteMcp) are
//! replaced by a mark such as `[hidden: key]` wherever they occur, unless they are shorter than four characters. When a file is
//! played, a mark matches any text in a request; in an answer it becomes what the provider that
//! replays has under that name.

mod difference;
mod exchange;
mod record;
mod replay;

use std::fmt;
use std::sync::Arc;

use hyper::{Request, Response};
use tool_core::{ModelError, ModelErrorKind};

use crate::http::{Answer, HttpClient, Pieces};
use crate::secret::Secrets;

pub(crate) use record::Recorder;
pub use replay::Replay;

/// How requests reach who answers them.
pub(crate) enum Traffic {
    Network(HttpClient),
    Recorded(HttpClient, Arc<Recorder>),
    Replayed(Replay),
}

impl Traffic {
    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        request: Request<Pieces>,
        secrets: &Arc<Secrets>,
    ) -> Result<Response<Answer>, ModelError> {
        match self {
            Traffic::Network(http) => http.send(request).await,
            Traffic::Recorded(http, recorder) => recorder.send(http, request, secrets).await,
            Traffic::Replayed(replay) => replay.send(request, secrets),
        }
    }

    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self, Traffic::Replayed(_))
    }
}

impl fmt::Debug for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Traffic::Network(http) => http.fmt(f),
            Traffic::Recorded(_, recorder) => recorder.fmt(f),
            Traffic::Replayed(replay) => replay.fmt(f),
        }
    }
}

fn configuration(text: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, text)
}
