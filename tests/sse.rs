//! Server-sent events, as the WHATWG's standard defines them, however the bytes are cut.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;

use tool_providers::sse::Decoder;

type Events = Vec<(String, String)>;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Events, Decoder) {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    for piece in pieces {
        let Ok(()) = decoder.push(piece, |event| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            events.push((text(event.name), text(event.data)));
            Ok::<_, Infallible>(())
        });
    }
    (events, decoder)
}

/// Reads a stream whole, byte by byte, and in two pieces cut anywhere, with a line ended in each of
/// the three ways.
#[track_caller]
fn assert_events(stream: &str, expected: &[(&str, &str)]) {
    let expected: Events = expected
        .iter()
        .map(|(name, data)| (name.to_string(), data.to_string()))
        .collect();
    for end in ["\n", "\r\n", "\r"] {
        let stream = stream.replace('\n', end);
        let bytes = stream.as_bytes();
        assert_eq!(read([bytes]).0, expected, "{stream:?} whole");
        assert_eq!(read(bytes.chunks(1)).0, expected, "{stream:?} byte by byte");
        for cut in 0..=bytes.len() {
            let (start, rest) = bytes.split_at(cut);
            assert_eq!(read([start, rest]).0, expected, "{stream:?} cut at {cut}");
        }
    }
}

#[test]
fn an_event_ends_with_an_empty_line() {
    assert_events(
        "data: one\n\ndata: two\n\n",
        &[("message", "one"), ("message", "two")],
    );
}

#[test]
fn an_event_that_the_stream_does_not_end_is_discarded() {
    assert_events("data: one\n\ndata: two\n", &[("message", "one")]);
    assert_events("data: one\n\ndata: two", &[("message", "one")]);
}

#[test]
fn lines_of_data_are_joined_by_line_feeds() {
    assert_events(
        "data: a\ndata\ndata:\ndata:b\n\n",
        &[("message", "a\n\n\nb")],
    );
}

#[test]
fn only_one_space_after_the_colon_is_dropped() {
    assert_events(
        "data:a\n\ndata: a\n\ndata:  a\n\n",
        &[("message", "a"), ("message", "a"), ("message", " a")],
    );
}

#[test]
fn empty_data_is_an_event_and_no_data_is_none() {
    assert_events(
        "data\n\nevent: x\n\n\n\ndata: a\n\n",
        &[("message", ""), ("message", "a")],
    );
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    assert_events(
        ": OPENROUTER PROCESSING\n\n:\nfoo: bar\ndata: a\n: more\nfoo\n\n",
        &[("message", "a")],
    );
}

#[test]
fn an_event_has_the_name_that_it_says_and_the_next_has_not() {
    assert_events(
        "event: error\ndata: a\n\ndata: b\n\n",
        &[("error", "a"), ("message", "b")],
    );
}

#[test]
fn colons_in_data_stay() {
    assert_events(
        "data: {\"a\":\"b: c\"}\n\n",
        &[("message", "{\"a\":\"b: c\"}")],
    );
}

#[test]
fn a_mark_of_the_byte_order_is_dropped_at_the_start_alone() {
    assert_events("\u{feff}data: a\n\n", &[("message", "a")]);
    assert_events(
        "data: \u{feff}a\n\n\u{feff}data: b\n\n",
        &[("message", "\u{feff}a")],
    );
}

#[test]
fn letters_of_several_bytes_survive_any_cut() {
    assert_events("data: žluťoučký 🐎\n\n", &[("message", "žluťoučký 🐎")]);
}

#[test]
fn ids_and_retries_are_kept() {
    let (_, decoder) = read([&b"id: 7\nretry: 1500\n\nid: a\0b\nretry: soon\n\n"[..]]);
    assert_eq!(decoder.last_id(), "7");
    assert_eq!(decoder.retry(), Some(1500));
}

#[test]
fn a_failure_of_the_reader_stops_it() {
    let mut decoder = Decoder::new();
    let mut seen = 0;
    let result = decoder.push(b"data: a\n\ndata: b\n\n", |_| {
        seen += 1;
        Err("enough")
    });
    assert_eq!((result, seen), (Err("enough"), 1));
}
