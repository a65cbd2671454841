//! P4: what is tried again, when, and what never is.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use tool_core::{ModelError, ModelErrorKind};
use tool_providers::retry::{Failure, LONGEST_WAIT, asked_delay, delay};

fn failure(kind: ModelErrorKind) -> Failure {
    Failure::new(ModelError::new(kind, "it failed"))
}

fn asking(seconds: f64) -> Failure {
    let error = ModelError::new(ModelErrorKind::RateLimit, "slow down");
    Failure::new(error.with_retry_after(Some(Duration::from_secs_f64(seconds))))
}

#[test]
fn only_what_may_pass_is_tried_again() {
    use ModelErrorKind::*;
    for kind in [RateLimit, Overloaded, Server, Network, Timeout] {
        assert!(delay(&failure(kind), 0, 2, 0.0).is_some(), "{kind:?}");
    }
    for kind in [
        Auth,
        Quota,
        ContextLength,
        BadRequest,
        Decoding,
        Configuration,
    ] {
        assert_eq!(delay(&failure(kind), 0, 2, 0.0), None, "{kind:?}");
    }
}

#[test]
fn waits_double_up_to_eight_seconds_with_jitter() {
    let failure = failure(ModelErrorKind::Server);
    let waits = |jitter| {
        let wait = |retries| delay(&failure, retries, 99, jitter).unwrap().as_secs_f64();
        [0, 1, 2, 3, 4, 5, 40].map(wait)
    };
    assert_eq!(waits(0.0), [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]);
    assert_eq!(waits(1.0), [0.375, 0.75, 1.5, 3.0, 6.0, 6.0, 6.0]);
}

#[test]
fn it_ends_after_as_many_retries_as_were_set() {
    let failure = failure(ModelErrorKind::Server);
    assert!(delay(&failure, 1, 2, 0.0).is_some());
    assert_eq!(delay(&failure, 2, 2, 0.0), None);
    assert_eq!(delay(&failure, 0, 0, 0.0), None);
}

#[test]
fn nothing_is_tried_again_once_a_piece_was_delivered() {
    let mut failure = failure(ModelErrorKind::Network);
    failure.delivered = true;
    failure.should_retry = Some(true);
    assert_eq!(delay(&failure, 0, 2, 0.0), None);
}

#[test]
fn the_wait_that_the_provider_asks_for_is_honoured_up_to_two_minutes() {
    assert_eq!(
        delay(&asking(7.5), 0, 2, 0.5),
        Some(Duration::from_secs_f64(7.5))
    );
    assert_eq!(delay(&asking(120.0), 0, 2, 0.5), Some(LONGEST_WAIT));
    assert_eq!(delay(&asking(120.5), 0, 2, 0.5), None);
    assert_eq!(
        delay(&asking(0.0), 0, 2, 0.0),
        Some(Duration::from_millis(500))
    );
}

#[test]
fn x_should_retry_comes_first() {
    let mut no = failure(ModelErrorKind::Server);
    no.should_retry = Some(false);
    assert_eq!(delay(&no, 0, 2, 0.0), None);
    let mut yes = failure(ModelErrorKind::BadRequest);
    yes.should_retry = Some(true);
    assert!(delay(&yes, 0, 2, 0.0).is_some());
}

#[test]
fn headers_ask_in_milliseconds_seconds_or_a_date() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let asked = |headers: &[(&str, &'static str)]| {
        let found = |name: &str| {
            headers
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        asked_delay(found, now).map(|delay| delay.as_secs_f64())
    };
    assert_eq!(
        asked(&[("retry-after-ms", "1500"), ("retry-after", "9")]),
        Some(1.5)
    );
    assert_eq!(asked(&[("retry-after", "2.5")]), Some(2.5));
    assert_eq!(
        asked(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]),
        Some(30.0)
    );
    // In the past, or no number: nothing is asked.
    assert_eq!(
        asked(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]),
        None
    );
    assert_eq!(asked(&[("retry-after", "-3")]), None);
    assert_eq!(asked(&[("retry-after", "soon")]), None);
    assert_eq!(asked(&[]), None);
    // Azure sends 0 beside the true wait.
    assert_eq!(
        asked(&[("retry-after-ms", "0"), ("retry-after", "9")]),
        Some(9.0)
    );
}
