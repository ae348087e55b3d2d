from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.providers.sse import EventTooLarge, ServerSentEvent, SSEParser


def parse(stream: bytes, cuts: list[int] | None = None, **options: int) -> list[ServerSentEvent]:
    parser = SSEParser(**options)
    events: list[ServerSentEvent] = []
    edges = [0, *sorted(cuts or []), len(stream)]
    for start, end in itertools.pairwise(edges):
        events += parser.feed(stream[start:end])
    return events + parser.close()


def data(stream: bytes, **options: int) -> list[str]:
    return [event.data for event in parse(stream, **options)]


@pytest.mark.clause("case:H1")
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_separates_events(end: bytes) -> None:
    stream = end.join([b'data:{"x":1}', b"", b"data: two", b"data:  lines", b"", b""])
    assert data(stream) == ['{"x":1}', "two\n lines"]


@pytest.mark.clause("case:H4")
def test_unicode_line_separators_are_text() -> None:
    stream = "data: a\u2028b\u0085c\x0b\x0c\x1cd\n\n".encode()
    assert data(stream) == ["a\u2028b\u0085c\x0b\x0c\x1cd"]


@pytest.mark.clause("case:H3")
def test_comments_ids_retries_and_empty_events_are_dropped() -> None:
    stream = b": PROCESSING\n\n:\n\nretry: 10\n\nid: 7\n\nevent: ping\n\ndata: real\nweird\n\n"
    assert parse(stream) == [ServerSentEvent("message", "real")]


def test_an_event_keeps_its_name_and_the_next_has_none() -> None:
    stream = b"event: error\ndata: a\n\ndata: b\n\ndata\n\n"
    assert parse(stream) == [
        ServerSentEvent("error", "a"),
        ServerSentEvent("message", "b"),
        ServerSentEvent("message", ""),
    ]


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    assert data(b"\xef\xbb\xbfdata: a\n\ndata: \xef\xbb\xbfb\n\n") == ["a", "\ufeffb"]
    assert data(b"\n\xef\xbb\xbfdata: not a field\n\n") == []


@pytest.mark.clause("case:H1")
def test_a_lone_cr_ends_the_event_without_waiting_for_more() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: a\r\r") == [ServerSentEvent("message", "a")]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [ServerSentEvent("message", "b")]


@pytest.mark.clause("case:H1")
def test_the_last_event_needs_no_blank_line() -> None:
    assert data(b"data: a\n\ndata: b") == ["a", "b"]


@pytest.mark.clause("case:H2")
def test_invalid_utf8_becomes_a_replacement_and_nul_stays() -> None:
    assert data(b"data: a\xff\x00b\n\n") == ["a\ufffd\x00b"]


def test_a_line_without_end_is_bounded() -> None:
    parser = SSEParser(max_event_bytes=1000)
    parser.feed(b"data: " + b"x" * 900)
    with pytest.raises(EventTooLarge, match="larger than 1000 bytes"):
        parser.feed(b"x" * 200)


def test_an_event_of_endless_lines_is_bounded() -> None:
    parser = SSEParser(max_event_bytes=1000)
    with pytest.raises(EventTooLarge):
        parser.feed(b"data: 0123456789\n" * 200)


_LINES = st.sampled_from(
    [
        b"data: a",
        b"data:\xc3\xa9\xe2\x80\xa8",
        b"data",
        b": c",
        b"event: e",
        b"",
        b"",
        b"\xef\xbb\xbf",
    ]
)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(_LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=12),
    st.data(),
)
def test_any_split_gives_the_same_events(
    lines: list[tuple[bytes, bytes]], draw: st.DataObject
) -> None:
    stream = b"".join(line + end for line, end in lines)
    cuts = draw.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    assert parse(stream, cuts) == parse(stream)


@settings(max_examples=100)
@given(st.binary(max_size=60))
def test_hostile_bytes_split_into_single_bytes_give_the_same_events(stream: bytes) -> None:
    assert parse(stream, list(range(len(stream)))) == parse(stream)
