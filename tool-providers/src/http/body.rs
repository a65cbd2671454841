//! The bodies of requests and answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tool_core::{ModelError, ModelErrorKind};

use super::{late, network};

/// The longest answer that is read whole.
const LONGEST_BODY: usize = 256 << 20;

/// How long the end of an answer may lag behind its last event for the connection to be kept.
const GRACE: Duration = Duration::from_millis(100);

/// The body of a request: pieces that earlier requests share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<Bytes>,
    next: usize,
    length: u64,
}

impl Pieces {
    /// A copy in one piece.
    pub(crate) fn joined(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

impl From<Vec<Bytes>> for Pieces {
    fn from(pieces: Vec<Bytes>) -> Self {
        Pieces {
            length: pieces.iter().map(|piece| piece.len() as u64).sum(),
            pieces,
            next: 0,
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.next;
        self.next += 1;
        let piece = self.pieces.get_mut(next).map(std::mem::take);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.next >= self.pieces.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// The body of an answer: it comes over a connection, or it was kept.
pub(crate) struct Answer {
    source: Source,
    listener: Option<Listener>,
}

enum Source {
    Live(Incoming),
    Kept { bytes: Option<Bytes>, broken: bool },
}

/// What a listener hears of an answer.
pub(crate) enum Heard<'a> {
    Piece(&'a [u8]),
    End,
}

/// Hears an answer while it is read. It is dropped with the answer, whether that ended or not.
pub(crate) type Listener = Box<dyn FnMut(Heard<'_>) -> Result<(), ModelError> + Send>;

impl Answer {
    /// What comes over a connection.
    pub(crate) fn live(body: Incoming) -> Self {
        Answer {
            source: Source::Live(body),
            listener: None,
        }
    }

    /// What was kept. After the bytes of a `broken` one comes an error.
    pub(crate) fn kept(bytes: Bytes, broken: bool) -> Self {
        let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
        Answer {
            source: Source::Kept { bytes, broken },
            listener: None,
        }
    }

    /// The same, heard by `listener`.
    pub(crate) fn heard_by(self, listener: Listener) -> Self {
        Answer {
            listener: Some(listener),
            ..self
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ModelError>> {
        let body = match &mut self.source {
            Source::Live(body) => body,
            Source::Kept { bytes, broken } => {
                return Poll::Ready(match (bytes.take(), &broken) {
                    (None, true) => Err(ModelError::new(
                        ModelErrorKind::Network,
                        "the recorded connection broke",
                    )),
                    (bytes, _) => Ok(bytes),
                });
            }
        };
        loop {
            let piece = match ready!(Pin::new(&mut *body).poll_frame(context)) {
                None => None,
                Some(Err(error)) => {
                    return Poll::Ready(Err(network("the connection broke", error)));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Some(data),
                    Err(_) => continue,
                },
            };
            if let Some(listener) = &mut self.listener {
                let heard = piece
                    .as_ref()
                    .map_or(Heard::End, |piece| Heard::Piece(piece));
                listener(heard)?;
            }
            return Poll::Ready(Ok(piece));
        }
    }

    /// How much is still to come, where that is known.
    fn rest(&self) -> Option<u64> {
        match &self.source {
            Source::Live(body) => body.size_hint().exact(),
            Source::Kept { .. } => None,
        }
    }
}

/// Reads the body of an answer.
pub(crate) struct BodyReader {
    body: Answer,
    silence: Duration,
    /// How often the alarm went off since the last piece.
    quiet: u32,
    /// Goes off at every quarter of the silence, so that a piece costs no look at the clock.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Whom the alarm wakes.
    woken: Waker,
}

impl BodyReader {
    pub(crate) fn new(body: Answer, silence: Duration) -> Self {
        BodyReader {
            body,
            silence,
            quiet: 0,
            alarm: None,
            woken: Waker::noop().clone(),
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        std::future::poll_fn(|context| match self.body.poll_next(context) {
            Poll::Ready(next) => {
                self.quiet = 0;
                Poll::Ready(next)
            }
            Poll::Pending => self.poll_alarm(context),
        })
        .await
    }

    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ModelError>> {
        let quarter = self.silence / 4;
        loop {
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(quarter)));
            // Polled only where it has to be told anew whom to wake, which is dear. (`will_wake` also
            // compares tables of functions, of which there may be several for one kind of waker.)
            if !alarm.is_elapsed() && self.woken.data() == context.waker().data() {
                return Poll::Pending;
            }
            self.woken.clone_from(context.waker());
            if alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // The piece may have come at any time in the first quarter, which is not counted.
            if self.quiet == 4 {
                return Poll::Ready(Err(late("the provider fell silent", self.silence)));
            }
            self.quiet += 1;
            alarm.as_mut().reset(Instant::now() + quarter);
            self.woken = Waker::noop().clone();
        }
    }

    /// All of it, but no more than `limit` bytes; `None` where there is more.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Option<Bytes>, ModelError> {
        let Some(first) = self.next().await? else {
            return Ok(Some(Bytes::new()));
        };
        let mut whole: Option<Vec<u8>> = None;
        while let Some(more) = self.next().await? {
            let whole = whole.get_or_insert_with(|| {
                let rest = self.body.rest().unwrap_or_default();
                let rest = usize::try_from(rest).unwrap_or_default().min(limit);
                let mut whole = Vec::with_capacity(first.len() + more.len() + rest);
                whole.extend_from_slice(&first);
                whole
            });
            if whole.len() + more.len() > limit {
                return Ok(None);
            }
            whole.extend_from_slice(&more);
        }
        Ok(Some(whole.map_or(first, Bytes::from)))
    }

    /// An answer that is read whole.
    pub(crate) async fn whole(&mut self) -> Result<Bytes, ModelError> {
        self.read(LONGEST_BODY).await?.ok_or_else(|| {
            let text = format!("the answer is longer than {LONGEST_BODY} bytes");
            ModelError::new(ModelErrorKind::Decoding, text)
        })
    }

    /// Reads to the end of an answer whose last event was read, so that the connection is kept.
    pub(crate) async fn drain(mut self) {
        let end = async { while let Ok(Some(_)) = self.next().await {} };
        // A server that does not end it costs a connection, not the answer.
        let _ = timeout(GRACE, end).await;
    }
}
