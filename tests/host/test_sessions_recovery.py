from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import ToolErrorKind
from rho_core.events import CompactionTrigger
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import (
    AbortedAssistant,
    EnrichedAssistant,
    History,
    Image,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    completed_assistant_content,
    tool_calls_of,
    tool_image_supplement,
)
from rho_core.ids import Revision, SessionId, SteeringId, ToolCallId
from rho_core.tooling.values import ToolFailed, ToolOutput, ToolSucceeded
from rho_tui.host.facts import INTERRUPTED_RESULT, Notice, TurnEnded, TurnEndKind
from rho_tui.host.replay import replay
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.file import SessionFile, UnreadableSession
from rho_tui.host.sessions.journal import HistoryJournal
from rho_tui.host.sessions.recovery import StoredSession, load, replay_safe
from tests.host.session_samples import MODEL

HEADER = r.Header(SessionId("s-1"), 1764498000.0, "/x", "0", MODEL)
USER = UserMessage.of_text("go")
IMAGE = Image("aGk=", "image/png")


def answer(*blocks: Text | ToolCall) -> EnrichedAssistant:
    return EnrichedAssistant(blocks, MODEL)


def call(id: str) -> ToolCall:
    return ToolCall.of(id, "look", {})


def succeeded(id: str, text: str = "seen", *images: Image) -> r.ToolCallFinished:
    return r.ToolCallFinished(ToolCallId(id), ToolSucceeded(ToolOutput(text, images=images)), 0.1)


def prompt(index: int) -> r.MessageAppended:
    return r.MessageAppended(USER, index, r.MessageOrigin.PROMPT)


def commit(revision: int, messages: int) -> r.TurnCommitted:
    return r.TurnCommitted(TurnEndKind.COMPLETED, Revision(revision), messages, MODEL)


class Stored:
    """A session file under construction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = SessionFile(path)
        self.file.stage(HEADER)
        self.journal = HistoryJournal(self.file.stage)

    def load(self) -> StoredSession:
        self.file.flush()
        return load(self.path)


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return Stored(tmp_path / "s.jsonl")


def assert_replay_safe(history: History) -> None:
    waiting: Counter[str] = Counter()
    for message in history:
        if isinstance(message, ToolResult):
            assert waiting[message.id] == 1
            waiting[message.id] = 0
        for made in tool_calls_of(completed_assistant_content(message) or ()):
            assert waiting[made.id] == 0
            waiting[made.id] = 1
    assert not +waiting


# -- the pairing of calls and results ---------------------------------------------------------

ids = st.sampled_from(["a", "b", "c"])
messages: st.SearchStrategy[Message] = st.one_of(
    st.just(USER),
    st.builds(lambda id, ok: ToolResult(id, ok, "r"), ids, st.booleans()),
    st.lists(ids, unique=True, max_size=3).map(lambda i: answer(Text("t"), *map(call, i))),
    st.just(AbortedAssistant((Text("half"), call("a")))),
    st.just(SystemMessage("s")),
)


@pytest.mark.clause("C72", "case:G1", "case:G8")
@given(st.lists(messages, max_size=12))
@settings(max_examples=100)
def test_any_history_becomes_one_that_pairs_calls_and_results(history: list[Message]) -> None:
    safe = replay_safe(history, {})
    assert_replay_safe(safe)
    assert [m for m in safe if not isinstance(m, ToolResult)] == [
        m for m in history if not isinstance(m, ToolResult)
    ]
    assert replay_safe(safe, {}) == safe


@pytest.mark.clause("case:G1")
def test_a_missing_result_stands_right_behind_its_answer_and_the_results_that_are_there() -> None:
    calls = answer(call("a"), call("b"))
    there = ToolResult("b", True, "r")
    safe = replay_safe((USER, calls, there, USER), {})
    missing = ToolResult("a", False, INTERRUPTED_RESULT)
    assert safe == (USER, calls, there, missing, USER)


def test_a_call_that_is_known_to_have_ended_gets_its_real_result_and_images() -> None:
    safe = replay_safe((USER, answer(call("a"))), {"a": succeeded("a", "pixels", IMAGE)})
    assert safe[2:] == (
        ToolResult("a", True, "pixels"),
        tool_image_supplement("look", "a", (IMAGE,)),
    )


# -- whole files ------------------------------------------------------------------------------


def test_a_committed_turn_comes_back_exactly(stored: Stored) -> None:
    history = (
        SystemMessage("be good"),
        USER,
        answer(call("a"), call("b")),
        ToolResult("a", True, "seen"),
        ToolResult("b", False, "broken"),
        tool_image_supplement("look", "a", (IMAGE,)),
        answer(Text("done")),
    )
    assert history[5] is not None
    stored.journal.append(history[0], r.MessageOrigin.SEED)
    stored.journal.append(USER, r.MessageOrigin.PROMPT)
    stored.journal.append(history[2])
    failed = r.ToolCallFinished(ToolCallId("b"), ToolFailed(ToolErrorKind.EXECUTION, "broken"), 0.0)
    for record in (succeeded("a", "seen", IMAGE), failed):
        stored.file.stage(record)
        stored.journal.call_finished(record)
    stored.journal.sync(history)
    stored.file.stage(commit(1, len(history)))
    loaded = stored.load()
    assert loaded.snapshot.history == history
    assert (loaded.snapshot.revision, loaded.interrupted, loaded.warnings) == (1, False, ())
    assert stored.path.read_bytes().count(b"seen") == 1  # results are not kept twice
    assert stored.path.read_bytes().count(b"aGk=") == 1


@pytest.mark.clause("case:G1")
def test_a_turn_in_flight_is_tied_up(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    stored.file.stage(r.MessageAppended(answer(call("a"), call("b")), 1))
    stored.file.stage(succeeded("a"))
    loaded = stored.load()
    assert loaded.snapshot.history == (
        USER,
        answer(call("a"), call("b")),
        ToolResult("a", True, "seen"),
        ToolResult("b", False, INTERRUPTED_RESULT),
    )
    assert loaded.interrupted
    assert loaded.snapshot.revision == 1
    ended = [event for event in replay(loaded) if isinstance(event, TurnEnded)]
    assert [event.kind for event in ended] == [TurnEndKind.INTERRUPTED]


def test_a_prompt_that_never_reached_the_model_is_kept(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    assert stored.load().snapshot.history == (USER,)


def test_steering_of_a_turn_in_flight_is_kept_once(stored: Stored) -> None:
    steering = UserMessage.of_text("faster")
    stored.file.stage(prompt(0))
    stored.file.stage(r.SteeringEntered(SteeringId("1"), steering))
    assert stored.load().snapshot.history == (USER, steering)
    stored.file.stage(r.MessageAppended(steering, 1))
    assert stored.load().snapshot.history == (USER, steering)


def test_an_id_that_is_used_again_does_not_inherit_an_old_result(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    stored.file.stage(r.MessageAppended(answer(call("a")), 1))
    stored.file.stage(succeeded("a", "old"))
    stored.file.stage(r.ResultAppended(ToolCallId("a"), True, 2))
    stored.file.stage(commit(1, 3))
    stored.file.stage(prompt(3))
    stored.file.stage(r.MessageAppended(answer(call("a")), 4))
    history = stored.load().snapshot.history
    assert [m.content for m in history if isinstance(m, ToolResult)] == ["old", INTERRUPTED_RESULT]


@pytest.mark.clause("J13", "B13")
def test_a_compacted_history_points_at_messages_that_are_there(stored: Stored) -> None:
    kept = answer(Text("kept " + "x" * 1000))
    summary = UserMessage.of_text("summary")
    before: History = (SystemMessage("s"), USER, answer(Text("old")), USER, kept)
    stored.journal.sync(before)
    stored.journal.sync((before[0], summary, kept), reason=r.ReplaceReason.COMPACTION)
    outcome = CompactionOutcome(5, 3, 900, 300, Revision(4))
    stored.file.stage(r.CompactionNoted(CompactionTrigger.MANUAL, outcome))
    loaded = stored.load()
    assert loaded.snapshot.history == (before[0], summary, kept)
    assert loaded.snapshot.revision == 4
    assert loaded.snapshot.compaction == CompactionState().after(outcome)
    assert stored.path.read_bytes().count(b"kept xxx") == 1


@given(st.lists(st.lists(messages, max_size=6), min_size=1, max_size=4), st.data())
@settings(max_examples=30)
def test_a_journal_follows_any_sequence_of_histories(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[Message]], data: st.DataObject
) -> None:
    stored = Stored(tmp_path_factory.mktemp("j") / "s.jsonl")
    current: list[Message] = []
    for news in steps:
        keep = data.draw(st.lists(st.sampled_from(current), max_size=4)) if current else []
        start = data.draw(st.integers(0, len(current)))
        current = [*current[:start], *news] if data.draw(st.booleans()) else [*keep, *news]
        stored.journal.sync(tuple(current))
        loaded = stored.load()
        assert [message for _, message in loaded.placed] == current


def test_a_damaged_line_costs_that_line_only(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    stored.file.stage(r.MessageAppended(answer(call("a")), 1))
    stored.file.stage(succeeded("a"))
    stored.file.stage(r.ResultAppended(ToolCallId("a"), True, 2))
    stored.file.stage(r.MessageAppended(answer(Text("done")), 3))
    stored.file.stage(commit(1, 4))
    stored.file.flush()
    lines = stored.path.read_bytes().splitlines(keepends=True)
    for hurt in range(1, len(lines)):
        damaged = list(lines)
        damaged[hurt] = lines[hurt][: len(lines[hurt]) // 2] + b"\n"
        stored.path.write_bytes(b"".join(damaged))
        loaded = load(stored.path)
        assert_replay_safe(loaded.snapshot.history)
        assert loaded.warnings == ("1 damaged record of this session could not be read",)
        if hurt != 5:
            assert answer(Text("done")) in loaded.snapshot.history
        assert isinstance(list(replay(loaded))[-1], Notice)


def test_a_known_torn_line_is_not_told_again(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    stored.file.flush()
    stored.file.close()
    with stored.path.open("ab") as raw:
        raw.write(b'{"s":3,"type":"mess')
    assert load(stored.path).warnings == (
        "the last record of this session was cut off while it was written",
    )
    again = SessionFile(stored.path, next_seq=3, exists=True)
    again.stage(r.TitleSet("x"))
    again.flush()
    assert load(stored.path).warnings == ()
    assert load(stored.path).title == "x"


def test_a_batch_that_was_written_twice_counts_once(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    stored.file.stage(r.NoticeShown("look"))
    stored.file.stage(commit(1, 1))
    stored.file.flush()
    data = stored.path.read_bytes()
    stored.path.write_bytes(data + data)
    loaded = load(stored.path)
    assert loaded.snapshot.history == (USER,)
    assert sum(isinstance(event, Notice) for event in replay(loaded)) == 1


def test_records_of_a_newer_version_are_passed_over_and_their_numbers_are_taken(
    stored: Stored,
) -> None:
    stored.file.stage(prompt(0))
    stored.file.flush()
    with stored.path.open("ab") as raw:
        raw.write(b'{"s":77,"t":1,"type":"hologram"}\n')
    loaded = load(stored.path)
    assert (loaded.next_seq, loaded.warnings) == (78, ())


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b'{"s":1,"type":"title","title":"x"}\n'])
def test_a_file_without_a_header_is_no_session(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(UnreadableSession):
        load(path)


def test_a_newer_session_is_refused_as_a_whole(stored: Stored) -> None:
    stored.file.flush()
    path = stored.path
    path.write_bytes(path.read_bytes().replace(b'"schema":1', b'"schema":9'))
    with pytest.raises(UnreadableSession, match="schema 9"):
        load(path)


def test_a_completion_that_stands_before_its_answer_is_not_pointed_at(stored: Stored) -> None:
    history = (USER, answer(call("a")), ToolResult("a", True, "seen"))
    record = succeeded("a")
    stored.file.stage(record)
    stored.journal.call_finished(record)
    stored.journal.sync(history)
    assert stored.load().snapshot.history == history


@pytest.mark.clause("case:G2")
def test_a_session_cut_at_any_byte_of_its_last_turn_loads_and_is_safe(stored: Stored) -> None:
    stored.file.stage(prompt(0))
    stored.file.stage(r.MessageAppended(answer(Text("first")), 1))
    stored.file.stage(commit(1, 2))
    stored.file.flush()
    committed = stored.path.stat().st_size
    stored.file.stage(prompt(2))
    stored.file.stage(r.MessageAppended(answer(call("a")), 3))
    stored.file.stage(
        r.ToolCallStarted(ToolCallId("a"), "look", succeeded("a").completion.output.metadata)
    )  # type: ignore[union-attr]
    stored.file.stage(succeeded("a"))
    stored.file.stage(r.ResultAppended(ToolCallId("a"), True, 4))
    stored.file.stage(r.MessageAppended(answer(Text("done")), 5))
    stored.file.stage(commit(2, 6))
    stored.file.flush()
    whole = stored.path.read_bytes()
    edges = {
        place + shift for place in range(len(whole)) if whole[place] == 0x0A for shift in (0, 1, 2)
    }
    for cut in sorted({*range(committed, len(whole), 11), *edges, len(whole)}):
        if not committed <= cut <= len(whole):
            continue
        stored.path.write_bytes(whole[:cut])
        loaded = load(stored.path)
        assert loaded.snapshot.history[:2] == (USER, answer(Text("first")))
        assert_replay_safe(loaded.snapshot.history)
        assert loaded.snapshot.revision in (1, 2)
        kinds = [event.kind for event in replay(loaded) if isinstance(event, TurnEnded)]
        assert kinds[0] is TurnEndKind.COMPLETED
        assert len(kinds) == 1 + (len(loaded.snapshot.history) > 2)
