//! When a request is made again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use tool_core::ModelError;

/// The longest wait that a provider may ask for. Above it the request fails.
pub const LONGEST_WAIT: Duration = Duration::from_secs(120);

const FIRST_WAIT: Duration = Duration::from_millis(500);
const LAST_WAIT: Duration = Duration::from_secs(8);

/// A request that failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What went wrong; it carries how long the provider asks to wait.
    pub error: ModelError,
    /// Whether the provider said that the request should be made again: `x-should-retry`.
    pub should_retry: Option<bool>,
    /// Whether a piece of the answer was handed on.
    pub delivered: bool,
}

impl Failure {
    /// A failure of which nothing was delivered.
    pub fn new(error: ModelError) -> Self {
        Failure {
            error,
            should_retry: None,
            delivered: false,
        }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Failure::new(error)
    }
}

/// How long to wait before the request is made again; `None`: it is not.
///
/// `retries` is how often that was done already, and `jitter` a random number from 0 to 1.
pub fn delay(failure: &Failure, retries: u32, max_retries: u32, jitter: f64) -> Option<Duration> {
    let wanted = failure
        .should_retry
        .unwrap_or_else(|| failure.error.kind().is_retryable());
    if failure.delivered || retries >= max_retries || !wanted {
        return None;
    }
    match failure.error.retry_after() {
        Some(asked) if asked > LONGEST_WAIT => None,
        Some(asked) if !asked.is_zero() => Some(asked),
        _ => {
            let wait = FIRST_WAIT
                .saturating_mul(1 << retries.min(16))
                .min(LAST_WAIT);
            Some(wait.mul_f64(1.0 - 0.25 * jitter.clamp(0.0, 1.0)))
        }
    }
}

/// How long the headers of an answer ask to wait: `retry-after-ms`, or `retry-after` in seconds or as
/// a date.
pub fn asked_delay<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: SystemTime,
) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let positive = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let milliseconds = header("retry-after-ms").and_then(number);
    milliseconds
        .and_then(|milliseconds| positive(milliseconds / 1000.0))
        .filter(|delay| !delay.is_zero())
        .or_else(|| {
            let text = header("retry-after")?;
            match number(text) {
                Some(seconds) => positive(seconds),
                None => httpdate::parse_http_date(text.trim())
                    .ok()?
                    .duration_since(now)
                    .ok(),
            }
        })
}

/// A random number from 0 to 1: the standard library seeds its hashers at random.
pub(crate) fn jitter() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
