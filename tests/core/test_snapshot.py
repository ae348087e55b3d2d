"""Snapshots: schema, strict import, size, what is never stored, and stores (B30–B39)."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import PersistenceError
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import (
    AbortedAssistant,
    EnrichedAssistant,
    ModelIdentity,
    ProviderContextBlock,
    Text,
    ToolResult,
    UserMessage,
)
from rho_core.history.snapshot import SessionSnapshot
from rho_core.history.store import InMemorySessionStore
from rho_core.ids import Revision, SessionId
from tests.core.messages_strategies import histories, json_values

FIXTURES = Path(__file__).parent / "fixtures"
IDENTITY = ModelIdentity("acme", "chat", "m1")


def snapshot(*history, **more) -> SessionSnapshot:
    fields = {"session_id": SessionId("s"), "revision": Revision(1), "provider": IDENTITY}
    return SessionSnapshot(history=history, **{**fields, **more})


def document(**changes) -> dict:
    return {**snapshot(UserMessage.of_text("x")).to_dict(), **changes}


@pytest.mark.clause("B30", "B33", "B36")
def test_the_written_document_has_exactly_these_keys_in_this_form() -> None:
    assert snapshot(UserMessage.of_text("ü")).to_json() == (
        '{\n  "schema_version": 2,\n  "session_id": "s",\n  "revision": 1,\n  "history": [\n'
        '    {\n      "User": [\n        {\n          "Text": "ü"\n        }\n      ]\n    }\n'
        '  ],\n  "provider": {\n    "provider": "acme",\n    "api": "chat",\n    "model": "m1"\n'
        '  },\n  "compaction": {\n    "completed_compactions": 0,\n    "removed_messages": 0,\n'
        '    "removed_tokens": 0,\n    "removed_cost_usd_micros": 0\n  }\n}'
    )
    full = snapshot(metadata={"k": "v"}, prompt_cache_key="p").to_dict()
    assert full["metadata"] == {"k": "v"}
    assert full["prompt_cache_key"] == "p"


@pytest.mark.clause("B31", "B32", "B38")
@pytest.mark.parametrize(
    ("name", "cache_key", "metadata"),
    [("v1", None, {}), ("v2", "cache-v2", {"title": "greeting"})],
)
def test_every_supported_fixture_migrates_to_the_current_schema(name, cache_key, metadata) -> None:
    text = (FIXTURES / f"session-snapshot-{name}.json").read_text()
    for loaded in (SessionSnapshot.from_json(text), SessionSnapshot.from_dict(json.loads(text))):
        assert loaded.session_id == f"session-{name}"
        assert loaded.schema_version == 2
        assert len(loaded.history) == 2
        assert loaded.provider == IDENTITY
        assert loaded.prompt_cache_key == cache_key
        assert loaded.metadata == metadata
        assert loaded.to_dict()["schema_version"] == 2
        assert SessionSnapshot.from_json(loaded.to_json()) == loaded


@pytest.mark.clause("B36")
def test_the_compaction_state_is_restored() -> None:
    text = (FIXTURES / "session-snapshot-v2.json").read_text()
    loaded = SessionSnapshot.from_json(text)
    assert loaded.compaction == CompactionState(1, 7, 900, 2500, 1000, 100, Revision(2))
    partial = document(compaction={"completed_compactions": 2, "removed_messages": 3})
    assert SessionSnapshot.from_dict(partial).compaction == CompactionState(2, 3)
    assert SessionSnapshot.from_dict(document(compaction=None)).compaction == CompactionState()


@pytest.mark.clause("B31", "L6")
@pytest.mark.parametrize("schema", [0, 3, 2**32 - 1, -1, 2.0, 1.5, "2", True, None, [2]])
def test_unsupported_schemas_are_rejected_through_both_entry_points(schema: object) -> None:
    bad = document(schema_version=schema)
    for load in (SessionSnapshot.from_dict, lambda d: SessionSnapshot.from_json(json.dumps(d))):
        with pytest.raises(PersistenceError, match="unsupported session snapshot schema"):
            load(bad)


@pytest.mark.clause("B32")
@pytest.mark.parametrize(
    "field", ["schema_version", "session_id", "revision", "history", "provider"]
)
def test_required_fields_are_required(field: str) -> None:
    bad = document()
    del bad[field]
    with pytest.raises(PersistenceError, match=field):
        SessionSnapshot.from_dict(bad)
    with pytest.raises(PersistenceError):
        SessionSnapshot.from_dict({})


@pytest.mark.clause("B32", "L6")
@pytest.mark.parametrize(
    "change",
    [
        {"session_id": ""}, {"session_id": 1}, {"revision": -1}, {"revision": 2**64},
        {"revision": 1.0}, {"revision": True}, {"revision": "1"}, {"history": {}},
        {"history": [1]}, {"provider": "acme"}, {"provider": {"provider": "acme"}},
        {"metadata": {"k": 1}}, {"metadata": []}, {"prompt_cache_key": 1},
        {"compaction": {"completed_compactions": 1}}, {"compaction": []},
        {"compaction": {"completed_compactions": 1, "removed_messages": -1}},
    ],
)  # fmt: skip
def test_wrong_types_are_rejected(change: dict) -> None:
    with pytest.raises(PersistenceError):
        SessionSnapshot.from_dict(document(**change))


@pytest.mark.clause("B32", "L6", "L7")
@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{", '{"schema_version": 2, "schema_version": 2}',
        '{"schema_version": NaN}', '"\\ud800"', "[" * 100_000, b"\xff\xfe\xfa",
    ],
)  # fmt: skip
def test_text_that_is_no_document_is_rejected(text) -> None:
    with pytest.raises(PersistenceError):
        SessionSnapshot.from_json(text)


@pytest.mark.clause("B32")
def test_deep_nesting_is_an_error_not_a_crash() -> None:
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(PersistenceError):
        SessionSnapshot.from_dict(document(extra=deep))


@settings(max_examples=60)
@given(
    st.one_of(
        json_values,
        st.dictionaries(
            st.sampled_from(["schema_version", "session_id", "revision", "history", "provider"]),
            st.one_of(json_values, st.just(2), st.just([]), st.just({"System": "x"})),
        ),
    )
)
@pytest.mark.clause("B32")
def test_malformed_input_only_ever_raises_a_persistence_error(value: object) -> None:
    with contextlib.suppress(PersistenceError):
        SessionSnapshot.from_dict(value)
    with contextlib.suppress(PersistenceError):
        SessionSnapshot.from_json(json.dumps(value))


@pytest.mark.clause("B34")
def test_replay_context_round_trips_but_raw_reasoning_is_blanked() -> None:
    block = ProviderContextBlock("sig", IDENTITY, "opaque", 0)
    aborted = AbortedAssistant((Text("par"),), "sum", (block,), reasoning="raw thoughts")
    written = snapshot(EnrichedAssistant((), IDENTITY, None, (block,)), aborted)
    assert written.history[1].reasoning == ""
    assert "raw thoughts" not in written.to_json()
    loaded = SessionSnapshot.from_json(written.to_json())
    assert loaded == written
    assert loaded.history[0].provider_context == (block,)
    foreign = document()
    foreign["history"] = [{"AbortedAssistant": {"content": [], "reasoning": "raw thoughts"}}]
    assert SessionSnapshot.from_dict(foreign).history[0].reasoning == ""


@settings(max_examples=60)
@given(histories)
@pytest.mark.clause("B34")
def test_any_history_round_trips_exactly(history) -> None:
    written = snapshot(*history)
    assert SessionSnapshot.from_json(written.to_json()) == written
    assert SessionSnapshot.from_dict(written.to_dict()) == written


@pytest.mark.clause("B39")
def test_serialisation_is_linear_and_holds_everything_once() -> None:
    count = 10_000
    long = snapshot(*(UserMessage.of_text(f"{index:046d}") for index in range(count)))
    assert 32 * count < len(long.to_json()) < 128 * count
    output = "x" * (2 * 1024 * 1024)
    text = snapshot(ToolResult("1", True, output)).to_json()
    assert len(text) < 2 * 1024 * 1024 + 16 * 1024
    assert text.count(output) == 1


@pytest.mark.clause("L12")
def test_a_snapshot_aliases_nothing_mutable_and_its_repr_tells_nothing() -> None:
    history = [UserMessage.of_text("private words")]
    metadata = {"title": "private title"}
    taken = SessionSnapshot(SessionId("s"), Revision(1), history, IDENTITY, metadata=metadata)
    history.append(UserMessage.of_text("later"))
    metadata["title"] = "changed"
    assert len(taken.history) == 1
    assert taken.metadata == {"title": "private title"}
    assert "private" not in repr(taken)


@pytest.mark.clause("B37")
async def test_the_store_replaces_complete_snapshots() -> None:
    store = InMemorySessionStore()
    assert not store
    assert await store.load(SessionId("s")) is None
    old, new = snapshot(), snapshot(UserMessage.of_text("secret"))
    assert store.replace(old) is None
    await store.save(new)
    assert await store.load(SessionId("s")) is new
    assert store.replace(old) is new
    assert len(store) == 1
    assert repr(store) == "InMemorySessionStore(['s'])"
    assert store.remove(SessionId("s")) is old
    assert store.remove(SessionId("s")) is None
