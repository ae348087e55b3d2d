from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.history.messages import AbortedAssistant, Text, UserMessage
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.fields import RecordError
from rho_tui.host.sessions.record_codec import (
    UnknownRecord,
    UnsupportedSchema,
    decode_line,
    encode_line,
)
from tests.host.session_samples import MODEL, RECORDS

any_text = st.text(st.characters())  # lone surrogates too


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_comes_back_as_it_was(record: r.Record) -> None:
    line = r.Line(7, 1764498000.125, record)
    data = encode_line(line)
    assert data.count(b"\n") == 1
    assert data.endswith(b"\n")
    assert decode_line(data) == line


def test_the_samples_have_every_record_type() -> None:
    assert {type(record) for record in RECORDS} == set(r.Record.__args__)


@pytest.mark.clause("case:G9")
@given(any_text)
@settings(max_examples=100)
def test_no_text_can_tear_a_line_or_come_back_changed(text: str) -> None:
    record = r.MessageAppended(UserMessage((Text(text),)), 0, r.MessageOrigin.PROMPT)
    data = encode_line(r.Line(1, 0.0, record))
    assert data.index(b"\n") == len(data) - 1
    assert decode_line(data).record == record


@pytest.mark.clause("C16", "B34")
def test_raw_reasoning_is_never_written() -> None:
    message = AbortedAssistant((Text("half"),), reasoning="secret thought")
    data = encode_line(r.Line(1, 0.0, r.MessageAppended(message, 0)))
    assert b"secret thought" not in data


def test_unknown_record_types_are_told_apart_from_damage() -> None:
    with pytest.raises(UnknownRecord) as caught:
        decode_line(b'{"s":9,"t":1,"type":"hologram","x":[]}\n')
    assert caught.value.seq == 9


def test_extra_keys_of_a_newer_version_are_ignored() -> None:
    data = json.loads(encode_line(r.Line(1, 2.0, r.TitleSet("x"))))
    data["colour"] = "red"
    assert decode_line(json.dumps(data).encode()).record == r.TitleSet("x")


def test_a_newer_schema_is_refused() -> None:
    line = encode_line(r.Line(1, 0.0, r.Header("s", 1.0, "/", "9", MODEL)))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedSchema, match="schema 2"):
        decode_line(line.replace(b'"schema":1', b'"schema":2'))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"s":1,"type":"title"}',
        b'{"s":-1,"type":"title","title":"x"}',
        b'{"s":true,"type":"title","title":"x"}',
        b'{"s":1,"type":"title","title":3}',
        b'{"s":1,"t":NaN,"type":"title","title":"x"}',
        b'{"s":1,"t":1e999,"type":"title","title":"x"}',
        b'{"s":1,"type":"commit","kind":"completed","revision":99999999999999999999,"messages":1}',
        b'{"s":1,"type":"message","origin":"run","index":0,"message":{"Nobody":"x"}}',
        b'{"s":1,"type":"tool_finished","call_id":"","completion":{"kind":"unavailable"}}',
        b'{"s":1,"type":"tool_finished","call_id":"x","completion":{"kind":"exploded"}}',
        b'{"s":1,"type":"question_asked","call_id":"x","request":{"id":"f","questions":[{"id":"q"}]}}',
        b'{"s":1,"type":"title","title":"\xff"}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_line_is_an_error_never_a_crash(line: bytes) -> None:
    with pytest.raises(RecordError):
        decode_line(line)


@given(st.sampled_from(RECORDS), st.data())
@settings(max_examples=100)
def test_any_cut_of_a_line_is_an_error(record: r.Record, data: st.DataObject) -> None:
    line = encode_line(r.Line(3, 1.0, record)).rstrip(b"\n")
    cut = data.draw(st.integers(0, len(line) - 1))
    with pytest.raises(RecordError):
        decode_line(line[:cut])
